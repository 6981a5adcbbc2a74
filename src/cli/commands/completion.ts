import { script } from '@bomb.sh/tab';
import { Argument, type Command } from 'commander';
import { addExamples } from '../command.ts';

/** `completion SHELL`: the script that a shell loads; it calls `crdb-exporter complete`. */
export function define(command: Command): void {
  const shell = new Argument('<shell>', 'shell to complete in').choices(['bash', 'zsh', 'fish']);
  command.addArgument(shell);
  addExamples(
    command,
    'completion bash > /etc/bash_completion.d/crdb-exporter',
    'completion zsh > "${fpath[1]}/_crdb-exporter"',
    'completion fish > ~/.config/fish/completions/crdb-exporter.fish',
  );
  command.action((name: string) => script(name, 'crdb-exporter', 'crdb-exporter'));
}
