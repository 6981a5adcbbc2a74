import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { exporter } from './exporter.ts';
import { load } from './load.ts';
import { nodes } from './nodes.ts';
import { overview } from './overview.ts';
import { ranges } from './ranges.ts';
import { sql } from './sql.ts';

/** All dashboards, in the order in which one reads them. */
export function buildBoards(): readonly Dashboard[] {
  return [overview(), nodes(), ranges(), load(), sql(), exporter()];
}

/** The text of a dashboard's file, named for its uid. */
export function writeBoard(board: Dashboard): string {
  return `${JSON.stringify(board, undefined, 2)}\n`;
}
