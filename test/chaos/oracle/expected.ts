import type { Simulator } from '../../../simulator/index.ts';

/** The correct values at one moment, by sample. */
export type Expected = Map<string, number>;

export type Labels = Readonly<Record<string, string>>;

/** The world at one moment, as far as its truth has to be looked up in it. */
export interface Moment {
  readonly truth: ReturnType<Simulator['truth']>;
  readonly nodes: Simulator['world']['state']['nodes'];
}

/** A sample's name and labels as one text, whatever the order of the labels; the cluster's name is left out. */
export function keyOf(name: string, labels: Labels): string {
  const pairs = Object.entries(labels).filter(([label]) => label !== 'crdb_cluster');
  return `${name} ${JSON.stringify(pairs.toSorted(([a], [b]) => (a < b ? -1 : 1)))}`;
}

/** The family of a key. */
export function nameOf(key: string): string {
  return key.slice(0, key.indexOf(' '));
}
