import type { Command } from 'commander';
import type { ClusterTarget } from '../../clients.ts';
import { CommandError, EXIT, usageError } from '../../command.ts';
import { note } from '../../output/standard-output.ts';

/** Adds `--yes`. */
export function addConfirmOption(command: Command): void {
  command.option('--yes', 'Do it without confirmation; required in a non-interactive session.');
}

/** Prints the change, as `delete the migration assistant`, and continues when the user agrees or `--yes` is set. */
export async function confirm(
  target: ClusterTarget<'cloud'>,
  change: string,
  yes = false,
): Promise<void> {
  const { name, cloud_api } = target.config;
  note(`about to ${change} on cluster ${name} (${cloud_api?.cluster_id} at ${cloud_api?.url})`);
  if (yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw usageError('this session is not interactive: add --yes to confirm');
  }
  if (!(await ask(target.stats.signal))) throw new CommandError('nothing was changed');
}

async function ask(signal: AbortSignal): Promise<boolean> {
  const { default: confirmation } = await import('@inquirer/confirm');
  try {
    const question = { message: 'Continue?', default: false };
    return await confirmation(question, { output: process.stderr, signal });
  } catch (error) {
    // Ctrl-C, or the end of the input.
    if (error instanceof Error && /^(?:ExitPrompt|AbortPrompt)Error$/.test(error.name)) {
      throw new CommandError('nothing was changed', EXIT.interrupted, error);
    }
    throw error;
  }
}
