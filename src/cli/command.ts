import type { Command } from 'commander';
import type { Environment } from '../config/secret.ts';
import type { Build } from './build.ts';

/** What a command is given besides its own arguments and options. */
export interface Invocation {
  readonly env: Environment;
  readonly build: Build;
  /** Takes the exit code once the command has run. */
  readonly done: (exitCode: number) => void;
}

/** The file of a command: adds its arguments, options, examples and action. */
export interface CommandFile {
  define(command: Command, invocation: Invocation): void;
}

/** Ends a command's help with lines to copy. */
export function addExamples(command: Command, ...examples: readonly string[]): void {
  const lines = examples.map((example) => `  crdb-exporter ${example}`);
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}
