import { createClusterApi, type ClusterApi } from '../../src/cluster/api.ts';
import type { Connection } from '../../src/cluster/connection.ts';
import type { CollectFailure, PollContext } from '../../src/collectors/collector.ts';
import { classifyThrown } from '../../src/http/errors.ts';
import { startReading } from '../../src/http/reading.ts';
import { createDecoder, decodeValue } from '../../src/json/decoder.ts';
import { Sheet } from '../../src/metrics/sheet.ts';
import { renderFamilies } from '../../src/metrics/snapshot.ts';

const MAX_ELEMENT_BYTES = 1 << 24;

/** Answers a path below /api/v2 with a document, or throws what the request would fail with. */
export type Answer = (path: string) => unknown;

interface AnsweringApi {
  readonly api: ClusterApi;
  /** The paths asked for so far. */
  readonly asked: readonly string[];
}

/** The cluster API over documents in memory: real paths, paging and decoding, no socket. */
export function answering(answer: Answer, dateMs?: number): AnsweringApi {
  const asked: string[] = [];
  const textOf = (path: string): Buffer => {
    asked.push(path);
    const body = answer(path);
    return Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  };
  const connection: Connection = {
    async readList(reading, question) {
      const body = textOf(question.path);
      const limits = { elementBytes: MAX_ELEMENT_BYTES, depth: 64 };
      const decoder = createDecoder({ ...question, limits });
      decoder.write(body);
      const { elements, envelope } = decoder.end();
      reading.items += elements;
      return { elements, envelope, dateMs };
    },
    async readObject(_reading, { path, shape }) {
      return decodeValue(textOf(path), shape).value;
    },
    async logOut() {},
  };
  return { api: createClusterApi(connection), asked };
}

interface Room<Api, Options, Memory> {
  readonly options: Readonly<Record<string, { readonly default: unknown }>>;
  createMemory(): Memory;
  collect(
    api: Api,
    sheet: Sheet,
    context: PollContext<Options, Memory>,
  ): Promise<CollectFailure | undefined>;
}

export interface Polled {
  readonly failure: CollectFailure | undefined;
  /** Sample lines, in the order of writing. */
  readonly lines: readonly string[];
  /** Lines of one family, without its name. */
  readonly of: (family: string) => readonly string[];
  readonly sheet: Sheet;
}

/** Polls a room once as the poller would, with its memory and its options. */
export async function poll<Api, Options, Memory>(
  room: Room<Api, Options, Memory>,
  api: Api,
  given: { readonly options: Options; readonly memory: Memory; readonly nowMs?: number },
): Promise<Polled> {
  const sheet = new Sheet({});
  const failure = await room.collect(api, sheet, {
    ...startReading(AbortSignal.timeout(20_000)),
    options: given.options,
    memory: given.memory,
    shard: '0',
    shards: { index: 0, count: 1 },
    nowMs: () => given.nowMs ?? 0,
    urls: 1,
    scanProgress: () => undefined,
    shardLearned: () => undefined,
    notice: () => undefined,
    reasonOf: (error) => classifyThrown(error, 'poll').reason,
  });
  const lines = renderFamilies(sheet)
    .flatMap((rendered) => rendered.lines.toString().split('\n'))
    .filter((line) => line !== '');
  return { failure, lines, sheet, of: (family) => linesOf(lines, family) };
}

function linesOf(lines: readonly string[], family: string): readonly string[] {
  return lines
    .filter((line) => line.startsWith(`${family}{`) || line.startsWith(`${family} `))
    .map((line) => line.slice(family.length).trim());
}
