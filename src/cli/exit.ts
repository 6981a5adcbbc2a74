/** What the process says with its exit code; docs/commands.md lists them for users. */
export const EXIT = { good: 0, failed: 1, usage: 2, interrupted: 130, terminated: 143 } as const;

/** A failure that a person can mend: its message is all that is printed, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

/** The command line asks for something that does not exist or does not go together. */
export function usageError(message: string): CommandError {
  return new CommandError(message, EXIT.usage);
}
