import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { PROCESS_TIMEOUT_MS, startProgram } from '../cli/run.ts';
import { MAIN, preload, startExporterProcess } from './process-support.ts';

const TIMEOUT = { timeout: PROCESS_TIMEOUT_MS };

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator({ nodes: 3, ranges: 30, metricKeys: 'useful' });
});

afterAll(() => simulator.close());

/** Program text: the process sends itself a signal when Node.js is about to load a module of this name. */
function signalAtLoad(signal: 'SIGTERM' | 'SIGINT', module: string): string {
  return `
    import { registerHooks } from 'node:module';
    let isSent = false;
    registerHooks({
      load(url, context, next) {
        if (!isSent && url.endsWith(${JSON.stringify(module)})) {
          isSent = true;
          process.stderr.write('signal sent\\n');
          process.kill(process.pid, ${JSON.stringify(signal)});
        }
        return next(url, context);
      },
    });`;
}

/** From the first module after the one that delays signals to one of the last. */
const MOMENTS = [
  ['SIGTERM', '/cli/program.ts'],
  ['SIGTERM', '/exporter/server/web-server.ts'],
] as const;

describe('a signal while modules are being loaded', TIMEOUT, () => {
  test.each(MOMENTS)(
    '(%s at %s) stops the exporter in an orderly way, with exit code 0',
    async (signal, module) => {
      const before = signalAtLoad(signal, module);
      await using running = startExporterProcess({ simulator, before });
      const { code, out, err } = await running.ended;
      expect(err).toContain('signal sent');
      expect(out).toContain(`msg=stopping signal=${signal}`);
      expect([code, running.child.signalCode]).toEqual([0, null]);
    },
  );

  test.each([
    { command: ['demo'], module: '/exporter/server/web-server.ts' },
    {
      command: ['simulate', '--listen=127.0.0.1:0', '--cloud-listen=127.0.0.1:0'],
      module: '/simulator/index.ts',
    },
  ])('ends $command.0 with 0', async ({ command, module }) => {
    const before = signalAtLoad('SIGINT', module);
    await using running = startProgram(process.execPath, [...preload(before), MAIN, ...command]);
    const { code, err } = await running.ended;
    expect(err).toContain('signal sent');
    expect([code, running.child.signalCode]).toEqual([0, null]);
  });
});
