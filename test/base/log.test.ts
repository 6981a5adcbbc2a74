import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import type { Log, LogOptions } from '../../src/base/log.ts';
import { Secret } from '../../src/config/files.ts';

const LOG_MODULE = path.resolve(import.meta.dirname, '../../src/base/log.ts');
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function recordLog(options: Pick<LogOptions, 'level' | 'format'>): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const log = createLog({ ...options, destination: { write: (line) => lines.push(line) } });
  return { log, lines };
}

/** The line without its time, whose form is checked. */
function afterTime(line: string | undefined): string {
  const [, time = '', rest = ''] = /^time=(\S+) (.*)\n$/s.exec(line ?? '') ?? [];
  expect(time).toMatch(TIME);
  return rest;
}

function logfmt(fields: object, message = 'm'): string {
  const { log, lines } = recordLog({ level: 'info', format: 'logfmt' });
  log.info(fields, message);
  return afterTime(lines[0]).replace('level=info msg=m', '').trim();
}

test('a logfmt line begins with time, level and message', () => {
  const { log, lines } = recordLog({ level: 'info', format: 'logfmt' });
  log.warn({ cluster: 'prod', seconds: 1.5 }, 'the poll is late');
  expect(lines).toHaveLength(1);
  expect(afterTime(lines[0])).toBe('level=warn msg="the poll is late" cluster=prod seconds=1.5');
});

test('a JSON line is one object with time, level and message', () => {
  const { log, lines } = recordLog({ level: 'info', format: 'json' });
  log.warn({ cluster: 'prod' }, 'the poll is late');
  const record: unknown = JSON.parse(lines.join(''));
  expect(record).toEqual({
    time: expect.stringMatching(TIME),
    level: 'warn',
    msg: 'the poll is late',
    cluster: 'prod',
  });
});

test.each([
  ['a bare word', { k: 'word' }, 'k=word'],
  ['a URL', { k: 'https://crdb:8080/?a' }, 'k=https://crdb:8080/?a'],
  ['an empty text', { k: '' }, 'k=""'],
  ['a space', { k: 'a b' }, 'k="a b"'],
  ['an equals sign', { k: 'a=b' }, 'k="a=b"'],
  ['a quote', { k: 'a"b' }, String.raw`k="a\"b"`],
  ['a backslash', { k: 'a\\b' }, String.raw`k="a\\b"`],
  ['line ends', { k: 'a\r\nb' }, String.raw`k="a\r\nb"`],
  ['a control character', { k: '\u0007' }, String.raw`k="\u0007"`],
  ['a line separator', { k: 'a\u2028b' }, 'k="a\u2028b"'],
  ['letters of any script', { k: 'Zürich東京' }, 'k=Zürich東京'],
  ['a number', { k: 0 }, 'k=0'],
  ['a boolean', { k: false }, 'k=false'],
  ['nothing', { k: null }, 'k=null'],
  ['an undefined value', { k: undefined, l: 1 }, 'l=1'],
  ['a list', { k: [1, 'a b'] }, String.raw`k="[1,\"a b\"]"`],
  ['a key without a name', { '': 1 }, '_=1'],
  ['a key that would break the line', { 'a b="c\n': 1 }, 'a_b__c_=1'],
])('logfmt writes %s so that one line stays one record', (_, fields, written) => {
  expect(logfmt(fields)).toBe(written);
});

const SECRET_KEYS =
  'password token session secret cookie set-cookie authorization Authorization x-cockroach-api-session X-Cockroach-API-Session x-service-api-session X-Service-API-Session'.split(
    ' ',
  );

test.each(['logfmt', 'json'] as const)('secrets are masked in %s', (format) => {
  const { log, lines } = recordLog({ level: 'info', format });
  const headers = {
    Authorization: 'hunter2',
    'X-Cockroach-API-Session': 'hunter2',
    accept: 'seen',
  };
  log.info({
    password: 'hunter2',
    login: { token: 'hunter2', request: { authorization: 'hunter2', cookie: 'hunter2' } },
    headers,
    held: new Secret('hunter2'),
  });
  log.child({ session: 'hunter2' }).info(`template ${String(new Secret('hunter2'))}`);
  expect(lines.join('')).not.toContain('hunter2');
  expect(lines.join('').match(/<secret>/g)).toHaveLength(9);
  expect(lines.join('')).toContain('seen');
  expect(headers.Authorization).toBe('hunter2');
});

test('each secret key is masked in three levels', () => {
  for (const key of SECRET_KEYS) {
    const { log, lines } = recordLog({ level: 'info', format: 'json' });
    log.info({ [key]: 'a', one: { [key]: 'b', two: { [key]: 'c', accept: 'd' } } });
    const masked = { [key]: '<secret>' };
    expect(JSON.parse(lines.join(''))).toMatchObject({
      ...masked,
      one: { ...masked, two: { ...masked, accept: 'd' } },
    });
  }
});

test('an error is its message with its causes, and its stack only at debug', () => {
  const { log, lines } = recordLog({ level: 'info', format: 'logfmt' });
  const err = new Error('login failed', { cause: new Error('connection refused') });
  log.error({ err, cluster: 'prod' }, 'poll failed');
  expect(afterTime(lines[0])).toBe(
    'level=error msg="poll failed" err="login failed: connection refused" cluster=prod',
  );
  log.level = 'debug';
  log.error({ err }, 'poll failed');
  expect(lines[1]).toContain(String.raw`stack="Error: login failed\n    at `);
});

test('a cause that the message already tells is not repeated, and a circle of causes ends', () => {
  const inner = new Error('connection refused');
  const outer = new Error('login failed: connection refused', { cause: inner });
  inner.cause = outer;
  expect(logfmt({ err: outer })).toBe('err="login failed: connection refused"');
  expect(logfmt({ err: new Error('a', { cause: 'text' }) })).toBe('err=a');
});

test('of a long chain of causes five are written', () => {
  const chain = ['g', 'f', 'e', 'd', 'c', 'b'].reduce<Error | undefined>(
    (cause, message) => new Error(message, { cause }),
    undefined,
  );
  expect(logfmt({ err: new Error('a', { cause: chain }) })).toBe('err="a: b: c: d: e: f"');
});

test('messages below the level are not written, and the level may change', () => {
  const { log, lines } = recordLog({ level: 'error', format: 'logfmt' });
  log.warn('unseen');
  log.level = 'debug';
  log.debug('seen');
  expect(lines).toHaveLength(1);
});

/** A program that logs and then says on standard error that it came to its end. */
function spawnLogger(stdout: number | 'pipe') {
  const program = `
    import { createLog } from ${JSON.stringify(LOG_MODULE)};
    let dropped = 0;
    const log = createLog({ level: 'info', format: 'logfmt', lineDropped: () => (dropped += 1) });
    process.once('message', () => {
      for (let line = 0; line < 5000; line++) log.info({ line }, 'x'.repeat(1000));
      const end = dropped > 0 ? 'alive, lines dropped' : 'alive';
      setImmediate(() => process.stderr.write(end, () => process.exit(7)));
    });
    process.send('ready');
  `;
  return spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', stdout, 'pipe', 'ipc'],
  });
}

test.each([
  ['that went away', /^alive/, (child: ReturnType<typeof spawnLogger>) => child.stdout?.destroy()],
  // Nothing reads its output, which fills the pipe and costs lines.
  ['that does not read', /^alive, lines dropped$/, () => undefined],
])(
  'a reader of standard output %s neither ends nor delays the process',
  async (_, end, prepare) => {
    const child = spawnLogger('pipe');
    await once(child, 'message');
    prepare(child);
    expect(await finish(child)).toEqual([expect.stringMatching(end), 7]);
  },
);

test.skipIf(process.platform !== 'linux')(
  'a full disk under standard output does not end the process',
  async () => {
    const child = spawnLogger(openSync('/dev/full', 'w'));
    await once(child, 'message');
    expect(await finish(child)).toEqual([expect.stringMatching(/^alive/), 7]);
  },
);

/** What the program says at its end, and its exit code. */
async function finish(child: ReturnType<typeof spawnLogger>): Promise<readonly [string, unknown]> {
  child.send('go');
  const said = child.stderr ? text(child.stderr) : '';
  const [code]: unknown[] = await once(child, 'exit');
  return [await said, code];
}

test.each(['logfmt', 'json'] as const)('a value is cut after 2000 characters in %s', (format) => {
  const { log, lines } = recordLog({ level: 'info', format });
  const names = Array.from({ length: 900 }, (_, at) => `DNS:host-${at}.example.com`);
  log.error({ err: new Error(`not in the certificate: ${names.join(', ')}`) }, 'poll failed');
  log.error({ names, cluster: 'prod' }, `${'é'.repeat(2_000)}not seen`);
  for (const line of lines) expect(line.length).toBeLessThan(4_300);
  if (format === 'json') lines.forEach((line) => void JSON.parse(line));
  expect(lines[0]).toContain('not in the certificate: DNS:host-0.example.com');
  expect(lines[0]).toContain('poll failed');
  expect(lines[1]).toContain(`${'é'.repeat(2_000)}…`);
  expect(lines[1]).toContain('prod');
});
