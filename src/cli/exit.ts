/** What the process says with its exit code; docs/commands.md lists them for users. */
export const EXIT = { good: 0, failed: 1, usage: 2 } as const;

/** A failure that a person can mend: its message is all that is printed, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}
