import type { SimulatorOptions } from '../options.ts';
import { createAssistantActions, type AssistantActions } from './assistant-actions.ts';
import { createNodeActions, type NodeActions } from './node-actions.ts';
import { createRangeActions, type RangeActions } from './range-actions.ts';
import { createSessionActions, type SessionActions } from './session-actions.ts';
import { growWorld, type WorldState } from './state.ts';
import { addTroubles } from './troubles.ts';

/** The simulated cluster: what is, and what may happen to it. */
export interface World extends NodeActions, RangeActions, SessionActions, AssistantActions {
  readonly state: WorldState;
}

/** A world grown from the options' seed. */
export function createWorld(options: SimulatorOptions): World {
  const state = growWorld(options);
  const world: World = {
    state,
    ...createNodeActions(state),
    ...createRangeActions(state),
    ...createSessionActions(state),
    ...createAssistantActions(state),
  };
  if (options.troubledNodes) addTroubles(state, world);
  return world;
}
