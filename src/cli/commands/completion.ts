import { script } from '@bomb.sh/tab';
import { Argument, type Command } from 'commander';
import { addExamples } from '../command.ts';
import { writeOut } from '../output/standard-output.ts';

/** The script of the library needs the package bash-completion; this one needs bash alone, 3.2 of macOS too. */
const BASH = [
  '# bash completion for crdb-exporter',
  '__crdb_exporter_complete() {',
  '    local line=${COMP_LINE:0:COMP_POINT} words word value',
  '    read -ra words <<< "$line"',
  "    [[ $line == *[[:space:]] ]] && words+=('')",
  '    word=${words[${#words[@]}-1]}',
  '    # Of --sort=age only the value after = is completed.',
  '    [[ $word == --*=* ]] && word=${word#*=}',
  '    COMPREPLY=()',
  String.raw`    while IFS=$'\t' read -r value _; do`,
  '        [[ $value == "$word"* && $value != :* ]] && COMPREPLY+=("$value")',
  '    done < <(crdb-exporter complete -- "${words[@]:1}" 2>/dev/null)',
  '    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null',
  '    return 0',
  '}',
  'complete -o default -F __crdb_exporter_complete crdb-exporter',
  '',
].join('\n');

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
  command.action(async (name: string) => {
    if (name === 'bash') await writeOut(BASH);
    else script(name, 'crdb-exporter', 'crdb-exporter');
  });
}
