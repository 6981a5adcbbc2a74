import { describe, expect, test } from 'vitest';
import { good } from '../support/http-server.ts';
import { PROCESS_TIMEOUT_MS, run, runHere, start, startProgram, writeTemporary } from './run.ts';

const CLUSTER = 'clusters: [{ name: one, cluster_api: { urls: ["http://127.0.0.1:1"] } }]\n';

describe('the command line', () => {
  test('lists its commands with --help', async () => {
    const { code, out, err } = await runHere(['--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const commands = ['serve', 'check', 'diagnose', 'reference', 'nodes', 'ranges', 'sessions'];
    for (const name of [...commands, 'table', 'users', 'probe', 'cloud', 'demo', 'simulate']) {
      expect(out).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
    }
  });

  test.each([
    ['serve'],
    ['check'],
    ['diagnose'],
    ['nodes'],
    ['ranges'],
    ['sessions'],
    ['table'],
    ['users'],
    ['probe'],
    ['demo'],
    ['simulate'],
    ['cloud', 'rename-database'],
    ['cloud', 'assistant', 'provision'],
    ['cloud', 'ca-cert', 'delete'],
  ])('explains `%s %s %s` with examples', async (...words) => {
    const { code, out } = await runHere([...words, '--help']);
    expect(code).toBe(0);
    expect(out).toContain('\nExamples:\n  crdb-exporter ');
  });

  test('prints its version with that of Node', async () => {
    const { code, out } = await runHere(['--version']);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^crdb-exporter \d+\.\d+\.\d+ \(revision \S+, Node\.js v\d+\.\d+\.\d+, \w+\/\w+\)\n$/,
    );
  });

  test.each([
    ['srve', 'did you mean serve?'],
    ['sesions', 'did you mean sessions?'],
    ['nonsense', 'see crdb-exporter --help'],
  ])('rejects the unknown command %s', async (word, hint) => {
    const { code, out, err } = await runHere([word]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toBe(`crdb-exporter: there is no command "${word}": ${hint}\n`);
  });

  test.each([
    [['--config.fil=x'], '(Did you mean --config.file?)'],
    [['serve', 'extra'], 'too many arguments'],
    [['--config.file=x', 'nodes'], 'too many arguments'],
    [['nodes', '--output', 'xml'], 'Allowed choices are table, json, ndjson'],
    [['ranges', 'three'], 'It must be the id of a node'],
    [['ranges', '--hot', '0'], 'It must be a whole number from 1'],
    [['sessions', '--older-than', '5'], 'It must be a duration like 5m'],
    [['table', 'movr'], "missing required argument 'table'"],
    [['cloud', 'asistant'], '(Did you mean assistant?)'],
    [['simulate', '--nodes', 'many'], 'It must be a whole number'],
    [['simulate', '--nodes', '0'], 'nodes: 0 is not an integer of 1 or more'],
    [['simulate', '--listen', '1:2:3'], 'It must be like 127.0.0.1:10138'],
  ])('refuses %j as wrong usage', async (args, message) => {
    const { code, out, err } = await runHere(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
    expect(err).toMatch(/^crdb-exporter: /);
    expect(err).not.toMatch(/^ +at /m);
  });

  test('hints at the demo when no cluster is configured', async () => {
    const { code, out, err } = await runHere([]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('no cluster is configured');
    expect(err).toContain('`crdb-exporter demo`');
  });

  test.each([
    [['serve'], 2],
    [['nodes'], 2],
    [['diagnose'], 2],
    [['check'], 1],
    [['serve', '--config.check'], 1],
  ])('%j reports every error of a configuration with its place', async (args, exitCode) => {
    const file = await writeTemporary('bad.yml', `${CLUSTER}webb: {}\nshard: { count: 0 }\n`);
    const { code, out, err } = await runHere([...args, `--config.file=${file}`]);
    expect({ code, out }).toEqual({ code: exitCode, out: '' });
    expect(err).toContain(`${file}:2:1: webb: `);
    expect(err).toContain(`${file}:3:17: shard.count: `);
  });

  test('reports a valid configuration', async () => {
    const file = await writeTemporary('good.yml', CLUSTER);
    const { code, out } = await runHere(['check', `--config.file=${file}`]);
    expect({ code, out }).toEqual({ code: 0, out: 'the configuration is valid: 1 cluster(s)\n' });
  });
});

describe('the process', { timeout: PROCESS_TIMEOUT_MS }, () => {
  test('prints its help and ends', async () => {
    const { code, out, err } = await run(['--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^Usage: crdb-exporter /);
  });

  test('ends with status 2 on wrong usage', async () => {
    const { code, out, err } = await run(['srve']);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toBe('crdb-exporter: there is no command "srve": did you mean serve?\n');
  });

  test('names the remedy when the address is in use', async () => {
    await using taken = await good();
    const address = new URL(taken.url).host;
    const file = await writeTemporary('good.yml', CLUSTER);
    const flags = [`--config.file=${file}`, `--web.listen-address=${address}`];
    const { code, err } = await run(flags);
    expect(code).toBe(1);
    expect(err).toBe(
      `crdb-exporter: cannot listen: address already in use ${address}; stop the process that uses it or choose another --web.listen-address\n`,
    );
  });

  test.each(['reference', 'serve --help'])(
    'a reader that stops reading %s is no error',
    async (args) => {
      const script = `"$0" src/main.ts ${args} | head -n 1; echo "status \${PIPESTATUS[0]}"`;
      const { out, err } = await startProgram('bash', ['-c', script, process.execPath]).ended;
      expect(out).toMatch(/^.+\nstatus 0\n$/);
      expect(err).toBe('');
    },
  );

  test.each(['SIGINT', 'SIGTERM'] as const)('the exporter ends cleanly on %s', async (signal) => {
    const file = await writeTemporary('good.yml', CLUSTER);
    await using running = start([`--config.file=${file}`, '--web.listen-address=127.0.0.1:0']);
    await running.until('listening');
    running.child.kill(signal);
    const { code, out } = await running.ended;
    expect(code).toBe(0);
    expect(out).toContain(`stopping signal=${signal}`);
  });
});
