import { readFileSync } from 'node:fs';
import path from 'node:path';

const LIST = path.join(import.meta.dirname, '..', 'skips.md');

/** The tests among `skipped` that test/skips.md does not excuse. A listed name excuses what begins with it. */
export function findUnlistedSkips(skipped: readonly string[]): readonly string[] {
  const excused = readSkips(readFileSync(LIST, 'utf8'));
  return skipped.filter((name) => !excused.some((prefix) => name.startsWith(prefix)));
}

/** Names in the first column of the table: `| name | reason |`, each with a reason. */
function readSkips(markdown: string): readonly string[] {
  return markdown
    .split('\n')
    .map((line) => /^\| `([^`]+)` +\| (\S.*?) +\|$/.exec(line))
    .flatMap((match) => match?.[1] ?? []);
}
