import { once } from 'node:events';
import type { Log } from '#base';
import type { Environment } from '#config';

/** Number of the first socket that a service manager hands over (sd_listen_fds(3)). */
const FIRST_SOCKET = 3;
/** Watchdog notifications per period: one may be late without harm. */
const NOTIFICATIONS_PER_PERIOD = 3;

/** Descriptors of the listening sockets that the service manager opened for this process. */
export function inheritedSockets(env: Environment): readonly number[] {
  if (env['LISTEN_PID'] !== String(process.pid)) return [];
  const count = Number(env['LISTEN_FDS'] ?? 0);
  return Array.from({ length: count }, (_, index) => FIRST_SOCKET + index);
}

/**
 * Notifies the service manager that started this process, if one did. Speaks the protocol of sd_notify(3) through the program systemd-notify, as Node.js has no datagram sockets of the
 * unix kind. A failure is only logged. Messages for another process are ignored.
 */
export function createSystemdNotifier(env: Environment, log: Log) {
  const socket = env['NOTIFY_SOCKET'];
  const everyMs = watchdogMs(env) / NOTIFICATIONS_PER_PERIOD;
  let timer: NodeJS.Timeout | undefined;
  let isStopping = false;

  async function notify(...assignments: readonly string[]): Promise<void> {
    if (socket === undefined) return;
    // Only systemd needs this module: the others start without it.
    const { spawn } = process.getBuiltinModule('node:child_process');
    const child = spawn('systemd-notify', assignments, {
      env: { PATH: env['PATH'], NOTIFY_SOCKET: socket },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    try {
      const [status]: unknown[] = await once(child, 'exit');
      if (status !== 0) log.warn({ status }, 'systemd-notify failed: see its message above');
    } catch (error) {
      log.warn(
        { err: error },
        'cannot run systemd-notify: use Type=exec and no WatchdogSec without it',
      );
    }
  }

  /** A hanging process does not get here, so that the watchdog restarts it. */
  function scheduleWatchdog(): void {
    if (everyMs === 0 || isStopping) return;
    timer = setTimeout(() => void notify('WATCHDOG=1').then(scheduleWatchdog), everyMs).unref();
  }

  return {
    /** Startup is complete; from now on the watchdog is notified as often as it requires. */
    ready(status: string) {
      void notify('READY=1', `STATUS=${status}`).then(scheduleWatchdog);
    },
    stopping() {
      isStopping = true;
      clearTimeout(timer);
      void notify('STOPPING=1');
    },
  };
}

/** 0 when there is no watchdog, or it watches another process. */
function watchdogMs(env: Environment): number {
  const pid = String(process.pid);
  const { WATCHDOG_PID: watched = pid, WATCHDOG_USEC: period = '0' } = env;
  return watched === pid && env['NOTIFY_SOCKET'] !== undefined ? Number(period) / 1000 : 0;
}
