import type { SimulatorOptions } from '../options.ts';

/** Which nodes of a troubled world are dead, draining and left over: the last ones, as far as there are enough. */
export interface TroubledNodes {
  readonly dead: number | undefined;
  readonly draining: number | undefined;
  readonly leftOver: number | undefined;
}

export function troubledNodesOf(options: SimulatorOptions): TroubledNodes {
  const count = options.troubledNodes ? options.nodes : 0;
  return {
    dead: count >= 4 ? count : undefined,
    draining: count >= 5 ? count - 1 : undefined,
    leftOver: count >= 6 ? count - 2 : undefined,
  };
}

/** Clients connect to the nodes that will be up. */
export function clientNodeIds(options: SimulatorOptions): number[] {
  const { dead, leftOver } = troubledNodesOf(options);
  const ids = Array.from({ length: options.nodes }, (_, index) => index + 1);
  return ids.filter((id) => id !== dead && id !== leftOver);
}
