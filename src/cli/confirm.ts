import { type Command, Option } from 'commander';
import { CommandError, EXIT, usageError } from './exit.ts';
import { note } from './standard-output.ts';

/** What a writing command is about to do. */
export interface Plan {
  /** One sentence without its full stop, as `delete the migration assistant`. */
  readonly what: string;
  /** On what: the cluster's name, id and service. */
  readonly where: string;
}

/** Adds `--yes`. */
export function addConfirmOption(command: Command): void {
  command.addOption(new Option('--yes', 'Do it without asking; needed where nobody can be asked.'));
}

/** Says what will be done and lets it happen when a person agrees, or has agreed beforehand with `--yes`. */
export async function confirm(
  { what, where }: Plan,
  { isAgreed, signal }: { readonly isAgreed: boolean; readonly signal: AbortSignal },
): Promise<void> {
  note(`about to ${what} on ${where}`);
  if (isAgreed) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw usageError('nobody can be asked here: add --yes to do it');
  }
  if (!(await ask(signal))) throw new CommandError('nothing was done');
}

async function ask(signal: AbortSignal): Promise<boolean> {
  const { default: confirmation } = await import('@inquirer/confirm');
  try {
    return await confirmation(
      { message: 'Go on?', default: false },
      { output: process.stderr, signal },
    );
  } catch (error) {
    // Ctrl-C, or the end of the input.
    if (error instanceof Error && /^(?:ExitPrompt|AbortPrompt)Error$/.test(error.name)) {
      throw new CommandError('nothing was done', EXIT.interrupted, error);
    }
    throw error;
  }
}
