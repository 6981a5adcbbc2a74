/** What the page is made of: what the program prints for `--help` and for `serve --help`. */
export interface HelpTexts {
  readonly program: string;
  readonly serve: string;
}

/** The page of `man crdb-exporter`: the help of the program as it is, where to look further, and the files of the package. */
export function writeManPage(
  version: string,
  { program, serve }: HelpTexts,
  files: Readonly<Record<string, string>>,
): string {
  return [
    `.TH CRDB\\-EXPORTER 1 "" "crdb\\-exporter ${escape(version)}" "User Commands"`,
    '.SH NAME',
    'crdb\\-exporter \\- Prometheus exporter for CockroachDB',
    '.SH SYNOPSIS',
    ...asItIs(/^Usage: (.*)$/m.exec(program)?.[1] ?? ''),
    '.SH DESCRIPTION',
    ...asItIs(afterUsage(program)),
    '.SH OPTIONS OF SERVE',
    ...asItIs(afterUsage(serve)),
    '.SH FILES',
    ...Object.entries(files).flatMap(([file, use]) => ['.TP', `.I ${escape(file)}`, escape(use)]),
    '',
  ].join('\n');
}

function afterUsage(help: string): string {
  return help.replace(/^Usage: .*\n+/, '').trimEnd();
}

/** Lines that are neither filled nor read as requests. */
function asItIs(text: string): readonly string[] {
  return ['.nf', ...text.split('\n').map(escape), '.fi'];
}

/** A line begins with a request where it begins with a dot or an apostrophe; a plain hyphen would not be found as the option that it is. */
function escape(line: string): string {
  return line
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replace(/^(?=[.'])/, String.raw`\&`);
}
