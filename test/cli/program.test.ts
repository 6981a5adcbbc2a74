import { describe, expect, test, vi } from 'vitest';
import { good } from '../support/http-server.ts';
import { PROGRAM } from '../support/program.ts';
import {
  type Ended,
  PROCESS_TIMEOUT_MS,
  run,
  runHere,
  startProgram,
  writeTemporary,
} from './run.ts';

const CLUSTER = 'clusters: [{ name: one, cluster_api: { urls: ["http://127.0.0.1:1"] } }]\n';

/** The library of completions writes with console.log. */
async function printed(args: readonly string[]): Promise<Pick<Ended, 'code' | 'out'>> {
  let out = '';
  const spy = vi.spyOn(console, 'log').mockImplementation((text: unknown) => {
    out += `${String(text)}\n`;
  });
  const { code, out: written } = await runHere(args).finally(() => spy.mockRestore());
  return { code, out: written + out };
}

describe('the command line', () => {
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
    [['--config.fil=exporter.yml'], "option '--config.fil'\n(Did you mean --config.file?)"],
    [
      ['nodes', '--cluster.password=x=y'],
      "'--cluster.password'\n(Did you mean --cluster.password-file?)",
    ],
    [['nodes', '-phunter2'], "unknown option '-p'\n"],
    [['cloud', 'assistant', 'get', '-p=hunter2'], "unknown option '-p'\n"],
    [['help', 'nodse'], 'did you mean nodes?'],
    [['serve', 'extra'], 'too many arguments'],
    [['--config.fil', 'x'], '(Did you mean --config.file?)'],
    [['--collector.users=maybe'], 'write --collector.users or --no-collector.users'],
    [['completion', 'tcsh'], 'Allowed choices are bash, zsh, fish'],
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

  test.each([
    [['--collector.users=true'], '--collector.users'],
    [['--collector.users=false'], '--no-collector.users'],
    [['--config.auto-reload=true'], '--config.auto-reload'],
  ])('takes %j like %s', async (args, same) => {
    const flags = await writeTemporary('good.yml', CLUSTER);
    const check = ['check', `--config.file=${flags}`];
    expect(await runHere([...check, ...args])).toEqual(await runHere([...check, same]));
    expect((await runHere([...check, ...args])).code).toBe(0);
  });

  test.each([
    [['--config.file', 'x.yml', 'check'], 'check'],
    [['--problems', 'ranges', '--hot', '3'], 'ranges'],
    [['--cluster.name', 'demo', '--cluster.url=x', 'table', 'a'], 'table'],
    [['--cluster.password', 'hunter2', 'nodes'], 'nodes'],
    [['-phunter2', 'nodes'], 'nodes'],
  ])('says of options before the command how to write it: %j', async (words, command) => {
    const { code, out, err } = await runHere(words);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    const expected = `options follow the command: crdb-exporter ${command} [options]`;
    expect(err).toBe(`crdb-exporter: ${expected}\n`);
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

  test.each([['check'], ['serve', '--config.check']])(
    '%s %s reports what keys contradict beside a wrong one',
    async (...args) => {
      const cluster = '{ name: one, cluster_api: { urls: ["http://a:1"], username: u } }';
      const web = await writeTemporary('web.yml', 'colour: 1\n');
      const text = `${CLUSTER.replace(/\]\n$/, `, ${cluster}]\n`)}webb: {}\nweb: { config_file: ${web} }\n`;
      const file = await writeTemporary('bad.yml', text);
      const env = { CRDB_EXPORTER_LOG_LEVEL: 'loud' };
      const { code, out, err } = await runHere([...args, `--config.file=${file}`], env);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      for (const place of [
        'LOG_LEVEL',
        'webb',
        'clusters[1].name',
        'clusters[1].cluster_api.username',
        'colour',
      ]) {
        expect(err).toContain(`${place}: `);
      }
      expect(err.trimEnd().split('\n')).toHaveLength(5);
    },
  );

  test('reports a valid configuration, with its warnings beside', async () => {
    const file = await writeTemporary('good.yml', CLUSTER);
    const flag = `--config.file=${file}`;
    const out = 'the configuration is valid: 1 cluster(s)\n';
    expect(await runHere(['check', flag])).toEqual({ code: 0, out, err: '' });
    const name = 'CRDB_EXPORTER_LOG_LEVELS';
    const err = `${name}: unknown variable, not used: did you mean CRDB_EXPORTER_LOG_LEVEL?\n`;
    expect(await runHere(['check', flag], { [name]: 'x' })).toEqual({ code: 0, out, err });
    const listed = await runHere(['nodes', flag], { [name]: 'x' });
    expect({ ...listed, err: listed.err.slice(0, err.length) }).toEqual({ code: 1, out: '', err });
  });

  test.each([
    ['nodes', 'several clusters are configured: choose one of one, cloud with --cluster'],
    ['nodes --cluster onne', 'no cluster "onne" is configured: did you mean one?'],
    ['nodes --cluster x', 'no cluster "x" is configured: choose one of one, cloud'],
    [
      'nodes --cluster cloud',
      'the cluster cloud has no cluster_api: set its URL with --cluster.url or in the file',
    ],
    [
      'cloud assistant get --cluster one',
      'the cluster one has no cloud_api: set --cloud.cluster-id and --cloud.token-file, or the same in the file',
    ],
  ])('`%s` among two clusters needs another choice', async (words, message) => {
    const cloud = '{ name: cloud, cloud_api: { cluster_id: a, token: t } }';
    const file = await writeTemporary('two.yml', CLUSTER.replace(' }]', ` }, ${cloud}]`));
    const ended = await runHere([...words.split(' '), `--config.file=${file}`]);
    expect(ended).toEqual({ code: 2, out: '', err: `crdb-exporter: ${message}\n` });
  });
});

describe('completion', () => {
  test.each(['bash', 'zsh', 'fish'])('prints a script for %s', async (shell) => {
    const { code, out } = await printed(['completion', shell]);
    expect(code).toBe(0);
    expect(out).toContain('crdb-exporter complete --');
  });

  test('works in a bash without the package bash-completion', async () => {
    const { out } = await runHere(['completion', 'bash']);
    const line = 'crdb-exporter nodes --sort=up';
    const script = `
      crdb-exporter() { "$NODE" "$PROGRAM" "$@"; }
      ${out}
      COMP_LINE='${line}' COMP_POINT=${line.length}
      __crdb_exporter_complete
      echo "\${COMPREPLY[*]}"`;
    const ended = await startProgram('bash', ['--norc', '-c', script], {
      NODE: process.execPath,
      PROGRAM,
    }).ended;
    expect(ended).toMatchObject({ code: 0, out: 'updated uptime\n', err: '' });
  });

  test.each([
    [['ra'], ['ranges', 'range']],
    [['nodes', '--so'], ['--sort']],
    [['sessions', '--sort', 'txn'], ['txn-age']],
    [['ranges', '--problems', '--output', 'nd'], ['ndjson']],
    [['cloud', 'assistant', 'pro'], ['provision']],
    [['serve', '--collector.us'], ['--collector.users']],
    [['--collector.us'], ['--collector.users']],
    [['--config.au'], ['--config.auto-reload']],
    [['reference', 'crdb_node_rec'], ['crdb_node_record_age_seconds']],
    [['rules', '--set', 'heartbeat_c'], ['heartbeat_critical=']],
    [['rules', '--set=heartbeat_c'], ['heartbeat_critical=']],
    [['dashboards', '--set', 'heartbeat_c'], ['heartbeat_critical=']],
    [['dashboards', '--format', 'graf'], ['grafana-operator']],
  ])('of %j is %j', async (words, expected) => {
    const { code, out } = await printed(['complete', '--', ...words]);
    expect(code).toBe(0);
    const lines = out.trimEnd().split('\n');
    expect(lines.slice(0, -1).map((line) => line.split('\t')[0])).toEqual(expected);
  });
});

describe('completion of a cluster', () => {
  const YAML = ['east', 'west', 'south-east']
    .map((name) => `  - { name: ${name}, cluster_api: { urls: ["http://127.0.0.1:9"] } }\n`)
    .join('');

  test.each([
    [(file: string) => ['--config.file', file, '--cluster', ''], ['east', 'west', 'south-east']],
    [(file: string) => [`--config.file=${file}`, '--cluster', 'we'], ['west']],
    [(file: string) => ['--cluster=so', `--config.file=${file}`, '--cluster=so'], ['south-east']],
    [() => ['--config.file=/nowhere.yml', '--cluster', ''], []],
    [() => ['--cluster', ''], []],
  ])('%# has the names of the configuration file', async (wordsFor, expected) => {
    const file = await writeTemporary('named.yml', `clusters:\n${YAML}`);
    const { code, out } = await printed(['complete', '--', 'nodes', ...wordsFor(file)]);
    expect(code).toBe(0);
    const lines = out.trimEnd().split('\n').slice(0, -1);
    expect(lines.map((line) => line.split('\t')[0])).toEqual(expected);
  });
});

describe('the process', { timeout: PROCESS_TIMEOUT_MS }, () => {
  test.each([
    ['already in use', 'stop the process that uses it or choose another', undefined],
    ['not available', 'choose another', '192.0.2.1:9000'],
  ])('names the remedy when the address is %s', async (problem, remedy, foreign) => {
    await using taken = await good();
    const address = foreign ?? new URL(taken.url).host;
    const file = await writeTemporary('good.yml', CLUSTER);
    const { code, err } = await run([`--config.file=${file}`, `--web.listen-address=${address}`]);
    expect(code).toBe(1);
    expect(err).toBe(
      `crdb-exporter: cannot listen: address ${problem} ${address}; ${remedy} --web.listen-address\n`,
    );
  });

  test.each([
    [
      'nosuchhost.invalid:0',
      /^crdb-exporter: cannot listen: getaddrinfo \w+ nosuchhost\.invalid; /,
    ],
    [
      'unix:no/such/folder/x',
      /^crdb-exporter: cannot listen: permission denied, or there is no such folder: .*no\/such\/folder\/x; /,
    ],
  ])('names the remedy when the address cannot exist: %s', async (address, message) => {
    const file = await writeTemporary('good.yml', CLUSTER);
    const { code, err } = await run([`--config.file=${file}`, `--web.listen-address=${address}`]);
    expect(code).toBe(1);
    expect(err).toMatch(message);
    expect(err).toMatch(/; choose another --web\.listen-address\n$/);
  });

  test.each([
    ['check', 1],
    ['serve', 2],
  ])('%s refuses a proxy whose password has a percent sign', async (command, exitCode) => {
    const distant = CLUSTER.replace('http://127.0.0.1:1', 'https://crdb.invalid:8080');
    const file = await writeTemporary('proxied.yml', distant);
    const env = { https_proxy: 'http://user:50%hunter2@proxy:3128' };
    const { code, err } = await run([command, `--config.file=${file}`], env);
    expect(code).toBe(exitCode);
    expect(err).toContain('https_proxy: has a % in the user or password');
    expect(err).toContain('write a % itself as %25');
    expect(err).not.toContain('hunter2');
  });

  test.each(['reference', 'serve --help', '--version'])(
    'a reader that stops reading %s is no error',
    async (args) => {
      const script = `"$0" "$1" ${args} | head -n 1; echo "status \${PIPESTATUS[0]}"`;
      const { out, err } = await startProgram('bash', ['-c', script, process.execPath, PROGRAM])
        .ended;
      expect(out).toMatch(/^.+\nstatus 0\n$/);
      expect(err).toBe('');
    },
  );
});
