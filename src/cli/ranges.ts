import { type Command, InvalidArgumentError } from 'commander';
import type { RequestError } from '../http/errors.ts';
import { adviseOn, requestErrorOf } from './advice.ts';
import { addExamples, type Invocation } from './command.ts';
import { EXIT } from './exit.ts';
import { parsePositiveFlag } from './flag-values.ts';
import { addListingOptions, type Format, type Listing, openListing } from './listing.ts';
import { type Progress, startProgress } from './progress.ts';
import { COLUMNS, KEY_COLUMNS } from './ranges/columns.ts';
import { createHotList } from './ranges/hot-list.ts';
import { chooseNodes, routeOf } from './ranges/node-choice.ts';
import { type Replica, replicaShape, toReplica } from './ranges/replica.ts';
import { note } from './standard-output.ts';
import { addTargetOptions, clusterApiOf, type Target, withTarget } from './target.ts';

interface Options {
  readonly output: Format;
  readonly sort?: string;
  readonly problems?: true;
  readonly hot?: number;
  readonly showKeys?: true;
}

/** `ranges [NODE]`: the replicas on every node, or on one. */
export function define(command: Command, invocation: Invocation): void {
  command
    .argument('[node]', 'id of a node; all nodes when left out', parseNodeId)
    .option('--problems', 'Only replicas that report a problem.')
    .option(
      '--hot <count>',
      'Only so many ranges: those with most queries, as their leaseholders see them.',
      parsePositiveFlag,
    )
    .option('--show-keys', 'Show where ranges begin and end; keys may hold user data.');
  addListingOptions(command, COLUMNS);
  addTargetOptions(command);
  addExamples(
    command,
    'ranges --problems --config.file=exporter.yml',
    'ranges --hot 20 --config.file=exporter.yml',
    'ranges 3 --output ndjson --config.file=exporter.yml | jq .range_id',
  );
  command.action(async (nodeId: number | undefined, options: Options) => {
    const work = (target: Target): Promise<number> => list(target, nodeId, options);
    invocation.done(await withTarget(command, invocation, { operation: 'ranges', work }));
  });
}

function parseNodeId(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be the id of a node, as `nodes` lists them.');
}

async function list(target: Target, nodeId: number | undefined, options: Options): Promise<number> {
  const { output: format, sort, showKeys = false } = options;
  const columns = showKeys ? [...COLUMNS, ...KEY_COLUMNS] : COLUMNS;
  const listing = openListing<Replica>({ format, member: 'ranges', columns, sort });
  const nodes = await chooseNodes(target, nodeId);
  const progress = await startProgress('replicas', {
    isWanted: format === 'table' || !process.stdout.isTTY,
  });
  let missing: readonly Missing[];
  try {
    missing = await readNodes(target, nodes.toAsk, { listing, progress, options });
  } finally {
    progress.stop();
  }
  await listing.close({
    skipped_nodes: nodes.toSkip,
    failed_nodes: missing.map(({ nodeId: node_id, error: { reason, message } }) => {
      return { node_id, reason, message };
    }),
  });
  report(target, nodes.toSkip, missing);
  return missing.length === 0 ? EXIT.good : EXIT.failed;
}

/** A node whose ranges are missing in what was printed. */
interface Missing {
  readonly nodeId: number;
  readonly error: RequestError;
}

interface Reader {
  readonly listing: Listing<Replica>;
  readonly progress: Progress;
  readonly options: Options;
}

/** One node after the other, so that no server makes two lists at a time. Rejects when none could be read. */
async function readNodes(
  target: Target,
  nodeIds: readonly number[],
  reader: Reader,
): Promise<readonly Missing[]> {
  const { listing, progress, options } = reader;
  const missing: Missing[] = [];
  const hot = options.hot === undefined ? undefined : createHotList(options.hot);
  const take = (replica: Replica): void => {
    if (options.problems === true && replica.problems.length === 0) return;
    (hot ?? listing).add(replica);
  };
  for (const [at, nodeId] of nodeIds.entries()) {
    progress.step(at, nodeIds.length);
    try {
      await readNode(target, { ...reader, nodeId, turn: at, take });
    } catch (error) {
      const failed = requestErrorOf(error, 'ranges');
      if (failed === undefined || target.ending.signal.aborted) throw error;
      missing.push({ nodeId, error: failed });
      if (missing.length === nodeIds.length) throw error;
    }
  }
  for (const replica of hot?.list() ?? []) listing.add(replica);
  return missing;
}

interface NodeReader extends Reader {
  readonly nodeId: number;
  /** Another URL each time, so that no gateway carries it all. */
  readonly turn: number;
  readonly take: (replica: Replica) => void;
}

async function readNode(target: Target, reader: NodeReader): Promise<void> {
  const { collectors, cluster_api } = target.config;
  const withKeys = reader.options.showKeys === true;
  await clusterApiOf(target).nodeRanges(target.reading, {
    nodeId: reader.nodeId,
    route: routeOf(target),
    limit: Number(collectors['ranges']?.['page_limit']),
    firstUrl: reader.turn % (cluster_api?.urls.length ?? 1),
    shape: replicaShape,
    onRange(range) {
      reader.progress.advance(1);
      reader.take(toReplica(range, withKeys));
    },
    onPageEnd: () => reader.listing.drained(),
  });
}

function report({ config }: Target, skipped: readonly number[], missing: readonly Missing[]): void {
  if (skipped.length > 0) note(`not asked, because not live: node ${skipped.join(', ')}`);
  for (const { nodeId, error } of missing) {
    const { problem, remedy } = adviseOn(error, { operation: 'ranges', config });
    note(`the ranges of node ${nodeId} are missing or cut short: ${problem}; ${remedy}`);
  }
}
