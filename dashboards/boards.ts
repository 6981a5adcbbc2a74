import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { exporter } from './exporter.ts';
import { fleet } from './fleet.ts';
import { load } from './load.ts';
import { nodes } from './nodes.ts';
import { overview } from './overview.ts';
import { ranges } from './ranges.ts';
import { sql } from './sql.ts';
import { tables } from './tables.ts';

/** All dashboards, in reading order. */
export function buildBoards(): readonly Dashboard[] {
  return [fleet(), overview(), nodes(), ranges(), load(), tables(), sql(), exporter()];
}

/** The content of a dashboard's JSON file, named after its uid. */
export function writeBoard(board: Dashboard): string {
  return `${JSON.stringify(board, undefined, 2)}\n`;
}
