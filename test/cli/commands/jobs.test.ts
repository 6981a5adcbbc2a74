import { describe, expect, onTestFinished, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/index.ts';
import { openProxy } from '../../support/changing-proxy.ts';
import { configFlag, runHere } from '../run.ts';

/** A cluster with two running changefeeds, a backup that succeeded, a paused import and two jobs that failed. */
async function openCluster(): Promise<Simulator> {
  const simulator = await startSimulator({
    nodes: 3,
    ranges: 12,
    sessions: 4,
    faultyNodes: false,
    frozen: true,
  });
  onTestFinished(() => simulator.close());
  simulator.world.pauseJob('import', 7_200_000);
  simulator.world.failJob('schema_change', 2, 'duplicate key value: \u001B]0;x\u0007email');
  simulator.world.failJob('row_level_ttl', 3);
  return simulator;
}

/** The list with one more job, which is running. */
function withRunningJob(body: string, more: object): string {
  const { jobs }: { readonly jobs: readonly object[] } = JSON.parse(body);
  const job = { ...jobs.at(-1), type: 'ROW LEVEL TTL', status: 'running', error: '', ...more };
  return JSON.stringify({ jobs: [...jobs, job] });
}

/** The cells of a table. */
function rows(text: string): string[][] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));
}

async function run(simulator: Simulator, ...args: readonly string[]) {
  return runHere(['jobs', ...args, await configFlag(simulator)]);
}

describe('jobs', () => {
  test('lists what failed, then what is paused, runs and has ended', async () => {
    const { code, out, err } = await run(await openCluster());
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const [header, ...jobs] = rows(out);
    expect(header).toEqual([
      'ID',
      'TYPE',
      'STATUS',
      'AGE',
      'PROGRESS',
      'NODE',
      'ERROR',
      'USER',
      'DESCRIPTION',
    ]);
    expect(jobs.map(([, type, status]) => [type, status])).toEqual([
      ['SCHEMA CHANGE', 'failed'],
      ['ROW LEVEL TTL', 'failed'],
      ['IMPORT', 'paused'],
      ['CHANGEFEED', 'running'],
      ['CHANGEFEED', 'running'],
      ['BACKUP', 'succeeded'],
    ]);
  });

  test('shows the error, on which node and since when, and nothing that a terminal obeys', async () => {
    const { out } = await run(await openCluster(), '--failed', '--wide');
    const [, first, second, ...more] = rows(out);
    expect(more).toEqual([]);
    expect(first).toEqual([
      expect.stringMatching(/^\d{19}$/),
      'SCHEMA CHANGE',
      'failed',
      expect.stringMatching(/^\d/),
      '-',
      '2',
      expect.stringMatching(/^duplicate key value: .*email$/),
      'root',
      'schema_change of movr',
    ]);
    expect(second?.[6]).toBe('row_level_ttl failed');
    // oxlint-disable-next-line no-control-regex -- what terminals obey
    expect(out).not.toMatch(/[\u0000-\u0009\u000B-\u001F]/);
  });

  test('lists a changefeed that only retries before those that work, with its error', async () => {
    const simulator = await openCluster();
    simulator.world.retryChangefeed('no sink');
    const { out } = await run(simulator, '--wide');
    const changefeeds = rows(out).filter(([, type]) => type === 'CHANGEFEED');
    expect(changefeeds.map((cells) => cells.slice(2).join(' '))).toEqual([
      expect.stringMatching(/^running .* retryable error: no sink .*movr\.public\.users$/),
      expect.stringMatching(/^running (?!.*retryable).*movr\.public\.rides$/),
    ]);
    expect(rows(out).findIndex(([, type]) => type === 'IMPORT')).toBeLessThan(
      rows(out).findIndex(([, type]) => type === 'CHANGEFEED'),
    );
  });

  test.each([
    ['its error', { error: 'delete timed out' }, 'delete timed out'],
    ['its status', { runningStatus: 'error: no sink' }, 'error: no sink'],
  ])(
    'lists a job that runs with an error in %s before those that work',
    async (_in, more, text) => {
      const simulator = await openCluster();
      const { origin } = new URL(simulator.clusterUrl);
      await using proxy = await openProxy(origin, (url, body) =>
        url.includes('/jobs') ? withRunningJob(body, more) : body,
      );
      const { out } = await run({ ...simulator, clusterUrls: [`${proxy.url}/api/v2`] }, '--wide');
      const jobs = rows(out).map((cells) => cells.slice(1, 3).join(' '));
      expect(jobs.slice(3, 6)).toEqual([
        'IMPORT paused',
        'ROW LEVEL TTL running',
        'CHANGEFEED running',
      ]);
      expect(rows(out)[4]).toContain(text);
    },
  );

  test('lists a job that tries again, or to go back again, before those that work', async () => {
    const simulator = await openCluster();
    const { origin } = new URL(simulator.clusterUrl);
    await using proxy = await openProxy(origin, (url, body) => {
      if (!url.includes('/jobs')) return body;
      const more = withRunningJob(body, { type: 'RESTORE', status: 'retry-running' });
      return withRunningJob(more, { status: 'retry-reverting' });
    });
    const { out } = await run({ ...simulator, clusterUrls: [`${proxy.url}/api/v2`] }, '--wide');
    const statuses = rows(out).map(([, , status]) => status);
    expect(statuses.slice(3, 7)).toEqual(['paused', 'retry-running', 'retry-reverting', 'running']);
  });

  test('that failed are also those that failed to go back', async () => {
    const simulator = await openCluster();
    const { origin } = new URL(simulator.clusterUrl);
    await using proxy = await openProxy(origin, (url, body) => {
      if (!url.includes('/jobs')) return body;
      const { jobs }: { readonly jobs: readonly object[] } = JSON.parse(body);
      const job = { ...jobs[0], id: '1', type: 'IMPORT', status: 'revert-failed' };
      return url.includes('status=revert-failed') ? JSON.stringify({ jobs: [job] }) : body;
    });
    const { out } = await run({ ...simulator, clusterUrls: [`${proxy.url}/api/v2`] }, '--failed');
    expect(rows(out).map((cells) => cells.slice(1, 3).join(' '))).toEqual([
      'TYPE STATUS',
      'IMPORT revert-failed',
      'SCHEMA CHANGE failed',
      'ROW LEVEL TTL failed',
    ]);
  });

  test('as JSON has every member', async () => {
    const { out } = await run(await openCluster(), '--paused', '--output', 'json');
    expect(JSON.parse(out)).toEqual({
      jobs: [
        {
          id: expect.stringMatching(/^\d{19}$/),
          type: 'IMPORT',
          status: 'paused',
          username: 'root',
          description: 'import of movr',
          created: expect.stringMatching(/^20.*Z$/),
          started: expect.stringMatching(/^20.*Z$/),
          finished: null,
          modified: expect.stringMatching(/^20.*Z$/),
          age_seconds: expect.closeTo(7200, -2),
          // The server sends 0, as for a changefeed, which has no such number.
          fraction_completed: null,
          running_status: null,
          error: null,
          node_id: null,
        },
      ],
    });
  });

  test('with both options has both', async () => {
    const simulator = await openCluster();
    const { out } = await run(simulator, '--failed', '--paused', '--output', 'ndjson');
    expect(out.trimEnd().split('\n')).toHaveLength(3);
  });

  test.each([
    ['--failed', ['failed', 'failed']],
    ['--paused', ['paused']],
    ['--failed --paused', ['failed', 'failed', 'paused']],
  ])('%s keeps only those, although a server ignores the parameter', async (options, statuses) => {
    const simulator = await openCluster();
    const { origin } = new URL(simulator.clusterUrl);
    let all = '';
    await using proxy = await openProxy(origin, (url, body) => {
      if (!url.includes('/jobs')) return body;
      if (!url.includes('status=')) all = body;
      return all;
    });
    const proxied = { ...simulator, clusterUrls: [`${proxy.url}/api/v2`] };
    expect(rows((await run(proxied)).out)).toHaveLength(7);
    const { code, out } = await run(proxied, ...options.split(' '));
    expect(code).toBe(0);
    expect(rows(out).map((cells) => cells[2])).toEqual(['STATUS', ...statuses]);
  });

  test('without the privilege names the GRANT', async () => {
    const simulator = await openCluster();
    const clusterApi = 'username: watcher, password: watcher-demo';
    const { code, out, err } = await runHere(['jobs', await configFlag(simulator, { clusterApi })]);
    expect([code, rows(out).length]).toEqual([0, 1]);
    expect(err).toContain('GRANT SYSTEM VIEWJOB TO watcher;');
  });

  test('none of which failed are no want of the privilege', async () => {
    const calm = await startSimulator({ nodes: 3, ranges: 12, sessions: 4, faultyNodes: false });
    onTestFinished(() => calm.close());
    const { code, out, err } = await run(calm, '--failed');
    expect({ code, rows: rows(out).length, err }).toEqual({ code: 0, rows: 1, err: '' });
    const clusterApi = 'username: watcher, password: watcher-demo';
    const flags = ['--failed', await configFlag(calm, { clusterApi })];
    expect((await runHere(['jobs', ...flags])).err).toContain('GRANT SYSTEM VIEWJOB TO watcher;');
  });

  test('that failed are listed although the list of all jobs cannot be read', async () => {
    const simulator = await openCluster();
    const { origin } = new URL(simulator.clusterUrl);
    await using proxy = await openProxy(origin, (url, body) =>
      url.includes('/jobs') && !url.includes('status=') ? '{}' : body,
    );
    const proxied = { ...simulator, clusterUrls: [`${proxy.url}/api/v2`] };
    const clusterApi = 'username: watcher, password: watcher-demo';
    const flags = ['--failed', await configFlag(proxied, { clusterApi })];
    const { code, out, err } = await runHere(['jobs', ...flags]);
    expect({ code, rows: rows(out).map(([id]) => id) }).toEqual({ code: 1, rows: ['ID'] });
    expect(err).toContain('the response has no `jobs`');
  });

  test('of a server without them says so', async () => {
    const simulator = await openCluster();
    simulator.fault({
      kind: 'status',
      status: 404,
      endpoint: 'jobs',
      body: '404 page not found\n',
    });
    const { code, err } = await run(simulator);
    expect(code).toBe(1);
    expect(err).toMatch(/^crdb-exporter: .*404.*\n$/);
  });
});
