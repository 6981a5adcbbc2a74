import type { PanelBuilder as Table } from '@grafana/grafana-foundation-sdk/table';
import { NODE_OF_ROW, toBoard, toConsole } from './lib/links.ts';
import type { States } from './lib/style.ts';
import { withTable } from './lib/table-names.ts';
import { table, type TableOptions } from './lib/table.ts';
import { S } from './lib/variables.ts';

const LABELS = 'problem, range_id, table_id, index_id';
const FIRST_SEEN = 'crdb_problem_range_first_seen_timestamp_seconds';
/** More seconds than any problem lasts: a severity of this many seconds each, plus the age, sorts by severity, then by age. */
const WEIGHT = 1e9;

/** What a problem means for users, the worst first: no quorum or no live replica at all, no lease or leader, any other. */
const SEVERITIES = [
  'problem=~"unavailable|no_live_replica"',
  'problem=~"no_lease|no_raft_leader"',
  'problem!~"unavailable|no_live_replica|no_lease|no_raft_leader"',
];
/** Ranges of system tables, whose ids are below 100, and the first ranges of the cluster: all statements need them. */
const SYSTEM = ['table_id=~"[0-9][0-9]?"', 'table_id="", range_id=~"1|2|3"'];

/** Two for each severity: the ranges of the system come before the others. */
const STATES: States = {
  1: ['warning', 'orange'],
  2: ['warning: system', 'orange'],
  3: ['critical', 'red'],
  4: ['critical: system', 'red'],
  5: ['critical', 'red'],
  6: ['critical: system', 'red'],
};

export interface ProblemRanges {
  /** Selects problems and reporting nodes, where the dashboard has variables for them. */
  readonly problems?: string;
  readonly nodes?: string;
  /** This many rows at most. */
  readonly top?: number;
  readonly width: number;
}

/** Ranges with a problem: those without quorum first, of these the ranges of the system, then by age. */
export function problemRanges(title: string, options: ProblemRanges): Table {
  const rows = rowsOf(options);
  return table(title, {
    about:
      'Ranges with a problem: those without quorum or a live replica first, of these the ranges of the system, which all statements need, then the oldest; the table is shown for known tables (crdb_problem_range_first_seen_timestamp_seconds, crdb_problem_range_reporter_info, crdb_table_info). See CrdbRangesUnavailable, CrdbRangesLost, CrdbRangesWithoutLease, CrdbRangesUnderreplicated, CrdbRangeProblemPersistent. Node and store are the lowest ids that report it, not the cause; of no_live_replica the lowest that held the range.',
    labels: COLUMNS,
    values: [
      {
        title: 'severity',
        unit: 'none',
        states: STATES,
        expr: `floor(${rows} / ${WEIGHT})`,
      },
      { title: 'since', unit: 's', expr: `${rows} % ${WEIGHT}` },
    ],
    sortBy: ['severity', 'since'],
    empty: 'none',
    evidence: [`crdb_range_problem_ranges{${S}}`, 'problem'],
    width: options.width,
  });
}

const COLUMNS: TableOptions['labels'] = {
  range_id: {
    title: 'range',
    links: [toConsole('range report', 'reports/range/${__data.fields.range_id}')],
  },
  problem: 'problem',
  database: 'database',
  table: 'table',
  table_id: 'table id',
  index_id: 'index id',
  node_id: { title: 'reported by node', links: [toBoard('Nodes', 'crdb-nodes', NODE_OF_ROW)] },
  store_id: 'reported by store',
};

function weighted(severity: number, firstSeen: string): string {
  return `${severity * WEIGHT} + clamp_min(time() - min by (${LABELS}) (${firstSeen}), 0)`;
}

/** Severity and age in one number, of each range and problem. */
function rowsOf({ problems, nodes, top }: ProblemRanges): string {
  const selected = problems === undefined ? S : `${S}, ${problems}`;
  const ages = SEVERITIES.flatMap((which, index) => {
    const severity = 2 * (SEVERITIES.length - index);
    const ofProblem = `${selected}, ${which}`;
    const ofSystem = SYSTEM.map((these) => `${FIRST_SEEN}{${ofProblem}, ${these}}`).join(' or ');
    return [
      weighted(severity, ofSystem),
      // Of the same ranges the left side of `or` counts.
      weighted(severity - 1, `${FIRST_SEEN}{${ofProblem}}`),
    ];
  }).join(' or ');
  const worst = top === undefined ? `(${ages})` : `topk(${top}, ${ages})`;
  const reporters = `max by (range_id, node_id, store_id) (crdb_problem_range_reporter_info{${nodes === undefined ? S : `${S}, ${nodes}`}})`;
  const reported = `(${worst} * on (range_id) group_left (node_id, store_id) topk by (range_id) (1, ${reporters}))`;
  return `(${withTable(reported, `${LABELS}, node_id, store_id`)})`;
}
