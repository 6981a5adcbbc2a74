import type { SimulatorOptions } from '../options.ts';
import { createAssistantActions, type AssistantActions } from './assistant-actions.ts';
import { addFaults } from './faults.ts';
import { createJobActions, type JobActions } from './job-actions.ts';
import { createNodeActions, type NodeActions } from './node-actions.ts';
import { createRangeActions, type RangeActions } from './range-actions.ts';
import { createRecordActions, type RecordActions } from './record-actions.ts';
import { createSessionActions, type SessionActions } from './session-actions.ts';
import { createState, type WorldState } from './state.ts';

/** The simulated cluster and migration assistant, and changes to them. */
export interface World
  extends NodeActions, RangeActions, SessionActions, JobActions, RecordActions, AssistantActions {
  readonly state: WorldState;
}

/** A world that depends only on the options. */
export function createWorld(options: SimulatorOptions): World {
  const state = createState(options);
  const world: World = {
    state,
    ...createNodeActions(state),
    ...createRangeActions(state),
    ...createSessionActions(state),
    ...createJobActions(state),
    ...createRecordActions(state),
    ...createAssistantActions(state),
  };
  if (options.faultyNodes) addFaults(state, world);
  return world;
}
