import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { PROGRAM } from '../support/program.ts';
import { hasProgram } from '../support/programs.ts';
import {
  configFlag,
  linesOf,
  PROCESS_TIMEOUT_MS,
  run,
  runInTerminal,
  startProgram,
} from './run.ts';

let simulator: Simulator;
let config: string;

beforeAll(async () => {
  simulator = await startSimulator({ nodes: 3, ranges: 40, sessions: 20, metricKeys: 'useful' });
  config = await configFlag(simulator);
});

afterAll(() => simulator.close());

const ESCAPE = '\u001B[';

/** The lines from the header on, without what progress left before it. */
function tableOf(screen: string): readonly string[] {
  const text = linesOf(screen).join('\n');
  return text.slice(text.search(/(?:ID|RANGE) +(?:STATUS|NODE|USER|TABLE|SQL)\b/)).split('\n');
}

describe.skipIf(!hasProgram('python3'))(
  'in a terminal (needs python3)',
  { timeout: PROCESS_TIMEOUT_MS },
  () => {
    test('a table fits its width, with colours', async () => {
      const { code, screen } = await runInTerminal(['nodes', config], { columns: 72 });
      expect(code).toBe(0);
      expect(screen).toContain(`${ESCAPE}32mlive${ESCAPE}39m`);
      const lines = linesOf(screen);
      expect(lines.some((line) => line.startsWith('ID  STATUS'))).toBe(true);
      const rows = lines.filter((line) => !line.startsWith('crdb-exporter'));
      expect(Math.max(...rows.map((line) => line.length))).toBeLessThanOrEqual(72);
    });

    test.each([
      [80, 'nodes --sort locality', ['ID', 'LOCALITY']],
      [80, 'ranges --problems', ['RANGE', 'PROBLEMS']],
      [80, 'ranges --hot 3', ['RANGE', 'QPS']],
      [80, 'sessions --older-than 1ms --sort txn-age', ['ID', 'TXN AGE', 'QUERY AGE']],
      [80, 'sessions --user movr --sort memory', ['ID', 'USER', 'MEMORY']],
      [40, 'sessions --show-sql', ['ID', 'SQL']],
    ])('%d columns hold what was asked for: %s', async (columns, command, asked) => {
      const { screen } = await runInTerminal([...command.split(' '), config], { columns });
      const [header = '', ...rest] = tableOf(screen);
      const hidden =
        /^crdb-exporter: hidden: (.+); --wide shows all/m.exec(rest.join('\n'))?.[1] ?? '';
      const titles = header.split(/ {2,}/);
      expect(titles).toEqual(expect.arrayContaining(asked));
      expect(hidden).toMatch(/^[A-Z]/);
      expect(new Set(titles).intersection(new Set(hidden.split(', ')))).toEqual(new Set());
      const rows = rest.filter((line) => !line.startsWith('crdb-exporter'));
      expect(Math.max(...rows.map((line) => line.length))).toBeLessThanOrEqual(columns);
    });

    test('ids of sessions are whole, and --wide hides nothing', async () => {
      const args = ['sessions', config];
      const narrow = tableOf((await runInTerminal(args, { columns: 80 })).screen);
      expect(narrow[0]).toMatch(/^ID +USER +APPLICATION +STATE +TXN AGE/);
      expect(narrow[1]).toMatch(/^[\da-f]{32} /);
      const wide = tableOf((await runInTerminal([...args, '--wide'], { columns: 80 })).screen);
      expect(wide[0]).toMatch(/^ID +USER +APPLICATION .* RETRIES +MEMORY$/);
      expect(wide.join()).not.toContain('hidden');
    });

    test('a long listing shows its progress', async () => {
      const fault = simulator.fault({ kind: 'slow', ms: 300, endpoint: 'node_ranges' });
      const { code, screen } = await runInTerminal(['ranges', config]);
      fault.remove();
      expect(code).toBe(0);
      expect(screen).toMatch(/replicas [█░]{20} [1-3]\/3 {2}[\d,]+/);
      expect(linesOf(screen).join('\n')).toMatch(/RANGE +NODE +STORE/);
    });

    test('nothing is changed without confirmation', async () => {
      const answers = [{ after: 'Continue?', send: 'n\r' }];
      const args = ['cloud', 'rename-database', 'movr', 'rides', config];
      const { code, screen } = await runInTerminal(args, { answers });
      expect(code).toBe(1);
      expect(screen).toContain('about to rename the database "movr" to "rides"');
      expect(screen).toContain('nothing was changed');
      expect(simulator.truth().tables.some(({ database }) => database === 'movr')).toBe(true);
    });

    test('Ctrl-C at the confirmation changes nothing', async () => {
      const answers = [{ after: 'Continue?', send: '\u0003' }];
      const args = ['cloud', 'assistant', 'provision', config];
      const { code, screen } = await runInTerminal(args, { answers });
      expect(code).toBe(130);
      expect(screen).toContain('nothing was changed');
      expect(simulator.truth().assistant).toBeUndefined();
    });

    test('the change is made after confirmation', async () => {
      const answers = [{ after: 'Continue?', send: 'y\r' }];
      const args = ['cloud', 'rename-database', 'bank', 'money', config];
      const { code } = await runInTerminal(args, { answers });
      expect(code).toBe(0);
      expect(simulator.truth().tables.some(({ database }) => database === 'money')).toBe(true);
    });
  },
);

describe('in a pipe', { timeout: PROCESS_TIMEOUT_MS }, () => {
  test('--verbose logs each request on standard error, without secrets', async () => {
    const { code, out, err } = await run(['users', '--verbose', config]);
    expect({ code, out }).toEqual({
      code: 0,
      out: ['USER', ...simulator.truth().users, ''].join('\n'),
    });
    for (const endpoint of ['login', 'users', 'logout']) {
      expect(err).toMatch(
        new RegExp(`level=debug msg="request finished" endpoint=${endpoint} .*code=200`),
      );
    }
    expect(err).not.toContain(simulator.password);
  });

  test('a reader that stops reading is no error, and the session is logged out', async () => {
    const script = `"$0" "$1" ranges --output ndjson "$2" | head -n 1 >/dev/null; echo "status \${PIPESTATUS[0]}"`;
    const before = simulator.requests.entries.length;
    const { out, err } = await startProgram('bash', [
      '-c',
      script,
      process.execPath,
      PROGRAM,
      config,
    ]).ended;
    expect({ out, err }).toEqual({ out: 'status 0\n', err: '' });
    const sent = simulator.requests.entries.slice(before);
    expect(sent.map(({ endpoint }) => endpoint)).toContain('logout');
  });

  test.skipIf(!existsSync('/dev/full'))('a full disk is one line and exit code 1', async () => {
    const script = '"$0" "$1" ranges "$2" --output ndjson >/dev/full';
    const before = simulator.requests.entries.length;
    const argv = ['-c', script, process.execPath, PROGRAM, config];
    const { code, err } = await startProgram('bash', argv).ended;
    const line = 'crdb-exporter: cannot write to standard output: no space left on the device\n';
    expect({ code, err }).toEqual({ code: 1, err: line });
    const sent = simulator.requests.entries.slice(before);
    expect(sent.map(({ endpoint }) => endpoint)).toContain('logout');
  });
});
