import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Environment } from '../config/secret.ts';
import type { Log } from '../log.ts';

/** The first socket that a service manager hands over has this number (sd_listen_fds(3)). */
const FIRST_SOCKET = 3;
/** The watchdog is fed this many times in its period: one report may be late without harm. */
const REPORTS_IN_PERIOD = 3;

/** What started this process and waits to hear from it; says nothing when nothing does. */
export interface ServiceManager extends Disposable {
  /** The start is over, as the text says; from now on the watchdog is fed as often as it asks. */
  ready(status: string): void;
  /** The end has begun. */
  stopping(): void;
}

interface Options {
  readonly env: Environment;
  /** Of this process: messages meant for another one are ignored. */
  readonly pid: number;
  readonly log: Log;
}

/** Descriptors of the listening sockets that the service manager opened for this process. */
export function inheritedSockets({ env, pid }: Pick<Options, 'env' | 'pid'>): readonly number[] {
  if (env['LISTEN_PID'] !== String(pid)) return [];
  const count = Number(env['LISTEN_FDS'] ?? 0);
  return Array.from({ length: count }, (_, index) => FIRST_SOCKET + index);
}

/**
 * Speaks the protocol of sd_notify(3) through the program systemd-notify, as Node.js has no datagram
 * sockets of the unix kind. A failure is logged and changes nothing else.
 */
export function createServiceManager({ env, pid, log }: Options): ServiceManager {
  const socket = env['NOTIFY_SOCKET'];
  const everyMs = watchdogMs(env, pid) / REPORTS_IN_PERIOD;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;

  async function tell(...assignments: readonly string[]): Promise<void> {
    if (socket === undefined) return;
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

  /** A process that hangs no longer gets here, which is the point of it. */
  async function feedWatchdog(): Promise<void> {
    await tell('WATCHDOG=1');
    planFeeding();
  }

  function planFeeding(): void {
    if (everyMs > 0 && !isOver) timer = setTimeout(() => void feedWatchdog(), everyMs).unref();
  }

  return {
    ready(status) {
      void tell('READY=1', `STATUS=${status}`).then(planFeeding);
    },
    stopping() {
      void tell('STOPPING=1');
    },
    [Symbol.dispose]() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

/** 0 when there is no watchdog, or it watches another process. */
function watchdogMs(env: Environment, pid: number): number {
  const { WATCHDOG_PID: watched = String(pid), WATCHDOG_USEC: period = '0' } = env;
  return watched === String(pid) && env['NOTIFY_SOCKET'] !== undefined ? Number(period) / 1000 : 0;
}
