/** A result of a step of the release check; a successful step has none. */
export interface Finding {
  /** Blocks the release, or could not be checked on this machine. */
  readonly kind: 'problem' | 'not checked';
  /** The problem, its place and its fix. */
  readonly text: string;
}

export function problem(text: string): Finding {
  return { kind: 'problem', text };
}

export function notChecked(text: string): Finding {
  return { kind: 'not checked', text };
}
