import { uuidOf, type Assistant } from './assistant.ts';
import type { WorldState } from './state.ts';

/** Changes to the migration assistant. */
export interface AssistantActions {
  /** Overwrites members of the assistant, or creates one in that state; `undefined` removes it. */
  setAssistant(members: Partial<Assistant> | undefined): void;
  /** PENDING now, RUNNING or FAILED later; the region must exist. */
  provisionAssistant(region: string): Assistant;
  /** DELETING now, removed later; `undefined` when there is none. */
  deleteAssistant(): Assistant | undefined;
  failNextProvisioning(): void;
  setAssistantDuration(durationMs: number): void;
  /** The assistant as it is now. */
  assistant(): Assistant | undefined;
}

export function createAssistantActions(state: WorldState): AssistantActions {
  const held = state.assistant;
  return {
    setAssistant: (members) => {
      held.present =
        members === undefined
          ? undefined
          : { ...(held.present ?? newAssistant(state, '')), ...members };
    },
    provisionAssistant: (region) => {
      held.present = newAssistant(state, region);
      held.present.changesAtMs = state.now() + held.durationMs / state.options.timeScale;
      return held.present;
    },
    deleteAssistant: () => {
      const present = advance(state);
      if (present === undefined) return undefined;
      change(present, 'DELETING', 'NOT_COMPUTED', state.now());
      present.changesAtMs = state.now() + held.durationMs / state.options.timeScale;
      return present;
    },
    failNextProvisioning: () => {
      held.failNext = true;
    },
    setAssistantDuration: (durationMs) => {
      held.durationMs = durationMs;
    },
    assistant: () => advance(state),
  };
}

function newAssistant(state: WorldState, region: string): Assistant {
  const nowMs = state.now();
  return {
    id: uuidOf('assistant', state.options.seed, nowMs),
    region: region === '' ? (regionsOf(state)[0] ?? '') : region,
    createdAtMs: nowMs,
    status: 'PENDING',
    health: 'NOT_COMPUTED',
    updatedAtMs: nowMs,
    lastError: '',
    changesAtMs: undefined,
  };
}

/** Regions of the cluster in order; an assistant is deployed to the first by default. */
export function regionsOf(state: WorldState): string[] {
  const regions = [...state.nodes.values()].flatMap((node) =>
    node.locality.filter((tier) => tier.key === 'region').map((tier) => tier.value),
  );
  return [...new Set(regions)].toSorted();
}

/** Applies a due change of status, with the time at which it was due. */
function advance(state: WorldState): Assistant | undefined {
  const held = state.assistant;
  const present = held.present;
  const dueMs = present?.changesAtMs;
  if (present === undefined || dueMs === undefined || state.now() < dueMs) return present;
  present.changesAtMs = undefined;
  if (present.status === 'DELETING') {
    held.present = undefined;
  } else if (held.failNext) {
    held.failNext = false;
    change(present, 'FAILED', 'NOT_COMPUTED', dueMs);
    present.lastError = 'provisioning failed: quota exceeded in the region (simulated)';
  } else {
    change(present, 'RUNNING', 'HEALTHY', dueMs);
  }
  return held.present;
}

function change(assistant: Assistant, status: string, health: string, atMs: number): void {
  Object.assign(assistant, { status, health, updatedAtMs: atMs });
}
