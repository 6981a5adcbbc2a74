import { COLLECTORS } from '#collectors';

const TABLE = /^\| Collector .*\n(?:\|.*\n)+/m;

/** docs/load.md with the table of the collectors as they are now. */
export function writeLoadPage(page: string): string {
  const rows = COLLECTORS.map(({ name, enabledByDefault, intervalSeconds, load }) => {
    const isLong = intervalSeconds > 60;
    const interval = isLong ? `${intervalSeconds / 60} min` : `${intervalSeconds} s`;
    return [name, load.requests, `${enabledByDefault ? '' : 'off; '}${interval}`, load.cost];
  });
  const titles = ['Collector', 'Requests of one poll', 'Default interval', 'Cost for the cluster'];
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const writeRow = (cells: readonly string[], filler = ' ') =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, filler)).join(' | ')} |\n`;
  const lines = [
    writeRow(titles),
    writeRow(['', '', '', ''], '-'),
    ...rows.map((row) => writeRow(row)),
  ];
  return page.replace(TABLE, () => lines.join(''));
}
