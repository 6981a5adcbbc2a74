/** What a step of the release check has to tell; a step that is good tells nothing. */
export interface Finding {
  /** Stands in the way of a release, or could only not be looked at here. */
  readonly kind: 'problem' | 'not checked';
  /** What, where, and what to do about it. */
  readonly text: string;
}

export function problem(text: string): Finding {
  return { kind: 'problem', text };
}

export function notChecked(text: string): Finding {
  return { kind: 'not checked', text };
}
