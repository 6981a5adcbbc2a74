import { formatJson } from '#base';
import { type ClusterApi, createPollStats, RequestError } from '#cockroach';
import { object } from '#json';
import { writeOutputFile } from '../output/output-file.ts';
import { tapResponses } from './response-tap.ts';
import { ServerReport } from './server-report.ts';

const HEADERS_MS = 10_000;
/** How many of the newest jobs are read. */
const JOBS = 20;

/** A report of the responses of a cluster while `work` runs; requests that `work` does not send are made at its end. */
export class ReportRecorder implements Disposable {
  readonly #report = new ServerReport();
  readonly #end: () => void;

  /** `urls` are those of the cluster API. */
  constructor(urls: readonly string[]) {
    const origins = new Set(urls.map((url) => new URL(url).origin));
    this.#end = tapResponses(origins, (response) => this.#report.add(response));
  }

  /** Asks for descriptors of ranges, for jobs, and for the result of `SELECT 1`. What fails is in the report with its status. */
  async askMore(api: ClusterApi, signal: AbortSignal): Promise<void> {
    const { nodeId, rangeIds } = this.#report.listed;
    const requests = [
      () =>
        api.jobs(createPollStats(signal), {
          limit: JOBS,
          shape: object({}),
          onJob: () => undefined,
        }),
      () =>
        api.sql(createPollStats(signal), {
          name: 'SELECT 1',
          sql: 'SELECT 1 AS one',
          database: 'system',
          timeoutMs: 5_000,
        }),
      () =>
        rangeIds.length === 0
          ? Promise.resolve()
          : api.rangeDescriptors(signal, {
              nodeId,
              rangeIds: [...rangeIds],
              headersMs: HEADERS_MS,
              firstUrl: 0,
              onDescriptor: () => undefined,
            }),
    ];
    for (const send of requests) {
      await send().catch((error: unknown) => {
        if (!(error instanceof RequestError) || signal.aborted) throw error;
      });
    }
  }

  /** Writes the report to a file. Rejects with a CommandError where it cannot be written. */
  async write(file: string, exporterVersion: string, scan?: true): Promise<void> {
    const report = this.#report.toJSON(exporterVersion, scan ? 'all nodes' : 'one node');
    const text = `${formatJson(report, 2)}\n`;
    await writeOutputFile('--report', file, text);
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}
