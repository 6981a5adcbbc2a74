import type { Command } from 'commander';
import { formatAge, formatBytes, formatCount, formatNodes, toTime } from '#base';
import {
  nameAsLabel,
  QUERY_PHASES,
  readSession,
  retriesOf,
  sessionDetails,
  sessions,
  users,
} from '#collectors';
import { collectorOptions } from '#config';
import { type Infer, object, string } from '#json';
import { grantOfSessions } from '#status';
import { parseSeconds } from '../arguments.ts';
import { addClusterAction, type ClusterTarget } from '../cluster-target.ts';
import { addExamples, type CommandContext, EXIT } from '../command.ts';
import { addListingOptions, type ListingOptions, openListing } from '../output/listing.ts';
import { note, withProgress } from '../output/standard-output.ts';
import { type Column, numberColumn } from '../output/table.ts';

/** Old enough for a transaction without a running statement to be a mistake of its application. */
const OLD_SECONDS = 60;

interface Options extends ListingOptions {
  readonly showSql?: true;
  readonly user?: string;
  readonly application?: string;
  readonly olderThan?: number;
}

type Session = ReturnType<typeof toSession>;

/** The most important first: a narrow terminal hides the last. */
const COLUMNS: readonly Column<Session>[] = [
  // CANCEL SESSION takes a whole id.
  { title: 'ID', value: (session) => session.id },
  { title: 'USER', value: (session) => session.username, shrinks: true },
  { title: 'APPLICATION', value: (session) => session.application_name, shrinks: true },
  {
    title: 'STATE',
    value: (session) => session.state.replaceAll('_', ' '),
    shrinks: true,
    style: (state) =>
      state === 'active' ? 'green' : state === 'idle in transaction' ? 'yellow' : undefined,
  },
  {
    ...numberColumn<Session>('TXN AGE', formatAge, (session) => session.transaction_age_seconds),
    style: (age) => (typeof age === 'number' && age > OLD_SECONDS ? 'red' : undefined),
  },
  numberColumn('QUERY AGE', formatAge, (session) => session.query_age_seconds),
  numberColumn('AGE', formatAge, (session) => session.age_seconds),
  { title: 'NODE', value: (session) => session.node_id, format: String },
  numberColumn('RETRIES', formatCount, ({ active_txn: transaction }) =>
    transaction === null ? undefined : retriesOf(transaction),
  ),
  numberColumn('MEMORY', formatBytes, (session) => session.alloc_bytes),
];

/** `sessions`: GET /sessions/, the open ones. */
export function define(command: Command, context: CommandContext): void {
  command
    .option('--user <name>', 'Only sessions of this SQL user.')
    .option('--application <name>', 'Only sessions of this application, named as in the metrics.')
    .option(
      '--older-than <duration>',
      'Only sessions whose transaction or query is older than this, such as 5m.',
      parseSeconds,
    )
    .option('--show-sql', 'Show the text of statements, which may hold user data.');
  addListingOptions(command, COLUMNS);
  addClusterAction(command, context, sessions, printSessions);
  addExamples(
    command,
    'sessions --older-than 5m --sort txn-age --config.file=exporter.yml',
    'sessions --application payments --show-sql --config.file=exporter.yml',
    'sessions --output ndjson --config.file=exporter.yml | jq -r .id',
  );
}

const SQL: Column<Session> = {
  title: 'SQL',
  // The query that runs now, else the last one.
  value: (session) => session.active_queries[0]?.sql ?? session.last_active_query,
  shrinks: true,
};

async function printSessions(target: ClusterTarget, options: Options): Promise<number> {
  const { user, application, olderThan, showSql } = options;
  const listing = openListing<Session>(options, {
    member: 'sessions',
    columns: showSql ? [...COLUMNS, SQL] : COLUMNS,
    required: [
      ...(user === undefined ? [] : ['USER']),
      ...(application === undefined ? [] : ['APPLICATION']),
      ...(olderThan === undefined ? [] : ['TXN AGE', 'QUERY AGE']),
      SQL.title,
    ],
    urgencyOf: (session) => session.transaction_age_seconds ?? 0,
  });
  const nowMs = Date.now();
  const ownName = target.config.cluster_api?.username?.toLowerCase();
  let listed = 0;
  let seesOthers = false;
  const { failedNodes } = await withProgress('sessions', options.output, (advance) =>
    target.api.sessions(target.stats, {
      limit: collectorOptions(target.config, sessions).page_limit,
      username: user,
      shape: sessionDetails(showSql),
      onSession(element, dateMs) {
        advance();
        listed += 1;
        seesOthers ||= element.username !== ownName;
        const figures = readSession(element, dateMs ?? nowMs);
        if (figures === undefined) return;
        const session = toSession(element, figures);
        if (isWanted(session, options)) listing.add(session);
      },
      onPageEnd: () => listing.drained(),
    }),
  );
  const failed = [...failedNodes].toSorted((a, b) => a - b);
  await listing.close({ failed_nodes: failed });
  if (failedNodes.has(0)) {
    note('sessions are missing: the responding node could not ask all nodes; run this again');
    return EXIT.failed;
  }
  const isMissing = failed.length > 0;
  if (isMissing) {
    note(
      `the sessions of ${formatNodes(failed)} are missing: the responding node could not read them; see \`nodes\``,
    );
  }
  if (ownName !== undefined && user === undefined && !seesOthers) {
    const grant = grantOfSessions(target.config.cluster_api);
    note(`the list has only sessions of the user ${ownName}: to see those of others, run ${grant}`);
  }
  return isMissing && listed === 0 ? EXIT.failed : EXIT.ok;
}

function isWanted(session: Session, { user, application, olderThan }: Options): boolean {
  if (user !== undefined && session.username !== user.toLowerCase()) return false;
  const name = nameAsLabel(session.application_name ?? '');
  if (application !== undefined && name !== nameAsLabel(application)) return false;
  if (olderThan === undefined) return true;
  const { transaction_age_seconds: transaction, query_age_seconds: query } = session;
  return Math.max(transaction ?? 0, query ?? 0) > olderThan;
}

/** A session as JSON: names of the API, ages as in the metrics. */
function toSession(
  element: Infer<ReturnType<typeof sessionDetails>>,
  open: NonNullable<ReturnType<typeof readSession>>,
) {
  const { active_queries: queries, active_txn: transaction, ...others } = element;
  return {
    ...others,
    id: toHex(element.id),
    start: toTime(element.start) ?? null,
    end: undefined,
    status: undefined,
    state: open.state,
    age_seconds: open.ageSeconds === Infinity ? null : open.ageSeconds,
    transaction_age_seconds: transaction === undefined ? null : open.oldestTransactionSeconds,
    query_age_seconds: queries.length === 0 ? null : open.oldestQuerySeconds,
    total_active_time: undefined,
    total_active_seconds: (element.total_active_time ?? 0) / 1e9,
    active_txn:
      transaction === undefined
        ? null
        : { ...transaction, start: toTime(transaction.start) ?? null, elapsed_time: undefined },
    active_queries: queries.map((query) => ({
      ...query,
      start: toTime(query.start) ?? null,
      elapsed_time: undefined,
      phase: QUERY_PHASES[query.phase ?? -1] ?? `unknown(${query.phase})`,
    })),
  };
}

/** A session id, which servers send as base64 or as an array of bytes. */
function toHex(id: unknown): string | undefined {
  if (id === undefined || id === null) return '';
  if (typeof id === 'string') return Buffer.from(id, 'base64').toString('hex');
  return Array.isArray(id) ? Buffer.from(id).toString('hex') : undefined;
}

/** `users`: GET /users/. */
export function defineUsers(command: Command, context: CommandContext): void {
  addListingOptions(command);
  addClusterAction(command, context, users, printUsers);
  addExamples(
    command,
    'users --config.file=exporter.yml',
    'users --output json --config.file=exporter.yml --cluster prod',
  );
}

async function printUsers(target: ClusterTarget, options: ListingOptions): Promise<void> {
  const listing = openListing<{ username: string }>(options, {
    member: 'users',
    columns: [{ title: 'USER', value: ({ username }) => username }],
  });
  await target.api.users(target.stats, {
    shape: object({ username: string() }),
    onUser: ({ username = '' }) => listing.add({ username }),
  });
  await listing.close();
}
