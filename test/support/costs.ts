import diagnostics from 'node:diagnostics_channel';
import { appendFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';

/** Where each test file appends what it cost, as a line of JSON; nothing is measured without. */
const FILE = process.env['TEST_COSTS'];
const ROOT = path.join(import.meta.dirname, '../..');
/** Ticks of /proc/self/stat in a second. */
const TICKS = 100;

/** What a test file cost: times in seconds; CPU of the processes that it started counts where they have ended. */
export interface Cost {
  readonly file: string;
  readonly wallSeconds: number;
  readonly ownCpuSeconds: number;
  readonly childCpuSeconds: number;
  readonly processes: number;
}

if (FILE !== undefined) {
  let processes = 0;
  const count = (): void => void (processes += 1);
  let before = read();
  beforeAll(() => {
    diagnostics.subscribe('child_process', count);
    before = read();
  });
  afterAll(() => {
    diagnostics.unsubscribe('child_process', count);
    const now = read();
    const cost: Cost = {
      file: path.relative(ROOT, expect.getState().testPath ?? ''),
      wallSeconds: now.wall - before.wall,
      ownCpuSeconds: now.own - before.own,
      childCpuSeconds: now.children - before.children,
      processes,
    };
    appendFileSync(FILE, `${JSON.stringify(cost)}\n`);
  });
}

function read(): { readonly wall: number; readonly own: number; readonly children: number } {
  const { user, system } = process.cpuUsage();
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  // After the state: fields 16 and 17, times of children that have ended.
  const [childUser = 0, childSystem = 0] = fields.slice(13, 15).map(Number);
  return {
    wall: performance.now() / 1000,
    own: (user + system) / 1e6,
    children: (childUser + childSystem) / TICKS,
  };
}
