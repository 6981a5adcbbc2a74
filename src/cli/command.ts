import type { Command } from 'commander';
import type { Build } from '#base';
import type { Environment } from '#config';

// Nothing is imported here but types: signals are held by a file that imports this one, before any package is loaded.

/** Exit codes of the process; docs/commands.md lists them. */
export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130, terminated: 143 } as const;

/** The surroundings of a command, beside its own arguments and options. */
export interface CommandContext {
  readonly env: Environment;
  readonly build: Build;
  readonly setExitCode: (exitCode: number) => void;
  readonly time: CommandTime;
}

/** The time of a command. */
export interface CommandTime {
  /** Resolves after this many milliseconds; rejects when the signal aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<unknown>;
  /** The clock of this host, in milliseconds since the epoch. */
  readonly wallMs: () => number;
}

/** A failure that a person can fix: only its message is printed, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

/** A command line that names something unknown or contradicts itself. */
export function usageError(message: string): CommandError {
  return new CommandError(message, EXIT.usage);
}

/** Ends the help of a command with lines to copy. */
export function addExamples(command: Command, ...examples: readonly string[]): void {
  const lines = examples.map((example) => `  crdb-exporter ${example}`);
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}
