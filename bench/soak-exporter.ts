// The exporter with intervals of milliseconds and without log output.
import { createLog } from '#base';
import { startTestExporter } from '../test/support/exporter.ts';
import { serveCalls } from './process.ts';

/** Resources of the process after garbage collection. */
export interface Held {
  readonly residentMib: number;
  readonly heapMib: number;
  readonly sockets: number;
  readonly timers: number;
}

const MIB = 1024 * 1024;
const { yaml, intervalSeconds }: { yaml: string; intervalSeconds: number } = JSON.parse(
  process.argv[2] ?? '{}',
);
const exporter = await startTestExporter({
  yaml,
  intervalSeconds,
  app: {
    log: createLog({
      level: 'info',
      format: 'logfmt',
      destination: { write: () => undefined },
    }),
  },
});

serveCalls({
  url: () => exporter.url,
  held(): Held {
    globalThis.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    const active = process.getActiveResourcesInfo();
    const count = (kind: string): number => active.filter((each) => each === kind).length;
    return {
      residentMib: rss / MIB,
      heapMib: heapUsed / MIB,
      sockets: count('TCPSocketWrap'),
      timers: count('Timeout'),
    };
  },
});
