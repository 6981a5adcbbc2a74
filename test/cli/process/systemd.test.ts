import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLog } from '../../../src/base/log.ts';
import { createSystemdNotifier, inheritedSockets } from '../../../src/cli/process/systemd.ts';
import { makeFolder } from '../../config/folder.ts';

const PID = String(process.pid);

test.each([
  [{}, []],
  [{ LISTEN_PID: PID }, []],
  [{ LISTEN_PID: PID, LISTEN_FDS: '1' }, [3]],
  [{ LISTEN_PID: PID, LISTEN_FDS: '3' }, [3, 4, 5]],
  [{ LISTEN_PID: '1', LISTEN_FDS: '3' }, []],
  [{ LISTEN_FDS: '3' }, []],
])('the sockets of %j are %j', (env, sockets) => {
  expect(inheritedSockets(env)).toEqual(sockets);
});

/** A notifier whose program is a script, what the script was told, and what was logged. */
async function notifyBy(script: string | undefined, more: Readonly<Record<string, string>> = {}) {
  const folder = await makeFolder({ told: '' });
  const told = path.join(folder, 'told');
  if (script !== undefined) {
    const program = path.join(folder, 'systemd-notify');
    await writeFile(program, `#!/bin/sh\necho "$NOTIFY_SOCKET: $*" >>${told}\n${script}\n`);
    await chmod(program, 0o700);
  }
  const warnings: string[] = [];
  const destination = { write: (line: string) => warnings.push(line.replace(/^time=\S+ /, '')) };
  const log = createLog({ level: 'info', format: 'logfmt', destination });
  const env = { PATH: folder, NOTIFY_SOCKET: '/run/notify', ...more };
  const lines = async (): Promise<readonly string[]> =>
    (await readFile(told, 'utf8')).split('\n').slice(0, -1);
  return { notifier: createSystemdNotifier(env, log), lines, warnings };
}

describe('the service manager', () => {
  test.each([
    ['without a watchdog', {}],
    ['with a watchdog for another process', { WATCHDOG_USEC: '3000', WATCHDOG_PID: '1' }],
  ])('is told nothing between, %s', async (_, env) => {
    const { notifier, lines } = await notifyBy('', env);
    notifier.ready('up');
    await expect.poll(lines).toEqual(['/run/notify: READY=1 STATUS=up']);
    notifier.stopping();
    await expect.poll(lines).toEqual(['/run/notify: READY=1 STATUS=up', '/run/notify: STOPPING=1']);
  });

  test('that refuses, or whose program is missing, costs a warning', async () => {
    const refused = await notifyBy('exit 3');
    refused.notifier.stopping();
    await expect
      .poll(() => refused.warnings)
      .toEqual(['level=warn msg="systemd-notify failed: see its message above" status=3\n']);
    const missing = await notifyBy(undefined);
    missing.notifier.stopping();
    await expect
      .poll(() => missing.warnings)
      .toEqual([
        'level=warn msg="cannot run systemd-notify: use Type=exec and no WatchdogSec without it" err="spawn systemd-notify ENOENT"\n',
      ]);
  });
});
