import { type Command, InvalidArgumentError } from 'commander';
import type { Environment } from '../config/secret.ts';
import { parseDuration } from '../config/values.ts';
import type { Build } from '../metrics/exporter-metrics.ts';
import { EXIT } from './process/signals.ts';

export { EXIT };

/** The surroundings of a command, beside its own arguments and options. */
export interface CommandContext {
  readonly env: Environment;
  readonly build: Build;
  readonly setExitCode: (exitCode: number) => void;
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

/** A duration as Prometheus writes them, in seconds. */
export function parseDurationFlag(text: string): number {
  const seconds = parseDuration(text);
  if (seconds !== undefined) return seconds;
  throw new InvalidArgumentError('It must be a duration like 5m, 1h30m or 500ms.');
}

/** Parser of ids and numbers of things: whole numbers from 1. */
export function positiveInteger(expected: string): (text: string) => number {
  return (text) => {
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
    throw new InvalidArgumentError(expected);
  };
}
