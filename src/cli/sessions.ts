import type { Command } from 'commander';
import { isClosed } from '../collectors/sessions/session.ts';
import { addExamples, type Invocation } from './command.ts';
import { EXIT } from './exit.ts';
import { parseDurationFlag } from './flag-values.ts';
import { addListingOptions, type Format, openListing } from './listing.ts';
import { startProgress } from './progress.ts';
import { CLIENT_COLUMNS, COLUMNS, SQL_COLUMNS } from './sessions/columns.ts';
import { type Session, sessionShape, toSession } from './sessions/session.ts';
import { note } from './standard-output.ts';
import { addTargetOptions, clusterApiOf, type Target, withTarget } from './target.ts';

interface Options {
  readonly output: Format;
  readonly sort?: string;
  readonly user?: string;
  readonly application?: string;
  readonly olderThan?: number;
  readonly showSql?: true;
  readonly showClients?: true;
}

/** `sessions`: GET /sessions/, the open ones. */
export function define(command: Command, invocation: Invocation): void {
  command
    .option('--user <name>', 'Only sessions of this SQL user.')
    .option('--application <name>', 'Only sessions of this application.')
    .option(
      '--older-than <duration>',
      'Only sessions whose transaction or query has been open for longer, as 5m.',
      parseDurationFlag,
    )
    .option('--show-sql', 'Show the text of statements; it may hold user data.')
    .option('--show-clients', 'Show the addresses of clients.');
  addListingOptions(command, COLUMNS);
  addTargetOptions(command);
  addExamples(
    command,
    'sessions --older-than 5m --sort txn-age --config.file=exporter.yml',
    'sessions --application payments --show-sql --config.file=exporter.yml',
    'sessions --output ndjson --config.file=exporter.yml | jq -r .id',
  );
  command.action(async (options: Options) => {
    const work = (target: Target): Promise<number> => list(target, options);
    invocation.done(await withTarget(command, invocation, { operation: 'sessions', work }));
  });
}

async function list(target: Target, options: Options): Promise<number> {
  const { output: format, sort } = options;
  const shown = { sql: options.showSql === true, clients: options.showClients === true };
  const columns = [
    ...COLUMNS,
    ...(shown.clients ? CLIENT_COLUMNS : []),
    ...(shown.sql ? SQL_COLUMNS : []),
  ];
  const listing = openListing<Session>({ format, member: 'sessions', columns, sort });
  const progress = await startProgress('sessions', {
    isWanted: format === 'table' || !process.stdout.isTTY,
  });
  const nowMs = Date.now();
  let listed = 0;
  const question = {
    limit: Number(target.config.collectors['sessions']?.['page_limit']),
    ...(options.user !== undefined && { username: options.user }),
    shape: sessionShape(shown),
    onPageEnd: () => listing.drained(),
  };
  const { failedNodes } = await clusterApiOf(target)
    .sessions(target.reading, {
      ...question,
      onSession(element) {
        progress.advance(1);
        listed += 1;
        // Servers of old list closed sessions, whatever they are asked.
        if (isClosed({ ...element, client_address: '' })) return;
        const session = toSession(element, shown, nowMs);
        if (isWanted(session, options)) listing.add(session);
      },
    })
    .finally(() => progress.stop());
  const failed = [...failedNodes].toSorted((a, b) => a - b);
  await listing.close({ failed_nodes: failed });
  if (failed.length > 0) {
    note(
      `the sessions of node ${failed.join(', ')} are missing: it could not be asked; see \`nodes\``,
    );
  }
  return failed.length > 0 && listed === 0 ? EXIT.failed : EXIT.good;
}

function isWanted(session: Session, { user, application, olderThan }: Options): boolean {
  if (user !== undefined && session.username !== user.toLowerCase()) return false;
  if (application !== undefined && session.application_name !== application) return false;
  if (olderThan === undefined) return true;
  const { transaction_age_seconds: transaction, query_age_seconds: query } = session;
  return Math.max(transaction ?? 0, query ?? 0) > olderThan;
}
