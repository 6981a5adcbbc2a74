import { hashOf } from '../random.ts';

export interface Assistant {
  readonly id: string;
  readonly region: string;
  readonly createdAtMs: number;
  /** PENDING, RUNNING, DELETING, FAILED, or a status of a newer service. */
  status: string;
  /** NOT_COMPUTED, HEALTHY, UNAVAILABLE, UNKNOWN, or anything else. */
  health: string;
  updatedAtMs: number;
  lastError: string;
  /** When the status changes automatically. */
  changesAtMs: number | undefined;
}

export interface AssistantState {
  readonly clusterId: string;
  present: Assistant | undefined;
  certificate: string;
  /** How long provisioning and deletion take. */
  durationMs: number;
  /** The next provisioning ends in FAILED. */
  failNext: boolean;
}

/** A cluster without an assistant; its id depends on the seed. */
export function createAssistant(seed: number): AssistantState {
  return {
    clusterId: uuidOf('cluster', seed),
    present: undefined,
    certificate: '',
    durationMs: 20_000,
    failNext: false,
  };
}

/** A well-formed UUID that depends only on its arguments. */
export function uuidOf(...parts: readonly (number | string)[]): string {
  const hex = [0, 1, 2, 3].map((word) =>
    hashOf(word, ...parts)
      .toString(16)
      .padStart(8, '0'),
  );
  const text = hex.join('');
  return [
    text.slice(0, 8),
    text.slice(8, 12),
    `4${text.slice(13, 16)}`,
    `a${text.slice(17, 20)}`,
    text.slice(20, 32),
  ].join('-');
}
