import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { createLog } from '../../../src/base/log.ts';
import { defineCollector, type Collector } from '../../../src/collectors/collector.ts';
import type { Environment } from '../../../src/config/files.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { Flags } from '../../../src/config/sources.ts';
import { Exporter, type ExporterOptions } from '../../../src/exporter/exporter.ts';
import { counter, type Family, gauge } from '../../../src/metrics/family.ts';
import type { SampleSet } from '../../../src/metrics/sample-set.ts';
import { createStatus } from '../../../src/status/status-routes.ts';
import { makeFolder } from '../../config/folder.ts';
import { PLAIN_FORM } from '../../status/command-form.ts';
import { fetchPath, type RequestOptions } from './fetch-path.ts';

const APPLES = gauge({
  name: 'crdb_apples_bytes',
  help: 'Apples of a tree, with a "quoted" word.',
  labels: ['tree'],
});
const PEARS = counter({ name: 'crdb_pears_total', help: 'Pears picked.', labels: ['tree'] });

/** The name of the web config file in the folder of an orchard. */
export const WEB_CONFIG = 'web.yml';

/** Enough to be compressed ahead of the scrape. */
const TREES = 400;

/** Collectors that need no cluster: the tests are about serving their data. */
export const COLLECTORS: readonly Collector[] = [
  manyTrees(TREES),
  createCollector('pears', [PEARS], (set) => set.set(PEARS, { tree: 'old "one"\\\n' }, 7)),
];

export function manyTrees(count: number): Collector {
  return createCollector('apples', [APPLES], (set) => {
    for (let tree = 0; tree < count; tree += 1) set.set(APPLES, { tree: `tree ${tree}` }, tree);
  });
}

function createCollector(
  name: string,
  families: readonly Family[],
  write: (set: SampleSet) => void,
): Collector {
  return defineCollector({
    name,
    api: 'cluster',
    help: `The ${name}.`,
    request: 'GET /nothing/',
    privilege: 'GRANT NOTHING',
    load: { requests: 'none', cost: 'None.' },
    scope: 'cluster',
    inProbe: true,
    intervalSeconds: 60,
    timeoutSeconds: 10,
    maxDuty: 1,
    enabledByDefault: true,
    families,
    options: {},
    createState: () => undefined,
    collect: () => Promise.resolve({}),
    samples(_result, set) {
      write(set);
    },
  });
}

/** A collector whose polls end only when they are aborted. */
export const SLEEPER: Collector = defineCollector({
  name: 'sleeper',
  api: 'cluster',
  help: 'Nothing.',
  request: 'GET /nothing/',
  privilege: 'GRANT NOTHING',
  load: { requests: 'none', cost: 'None.' },
  scope: 'cluster',
  inProbe: true,
  intervalSeconds: 60,
  timeoutSeconds: 60,
  maxDuty: 1,
  enabledByDefault: true,
  families: [],
  options: {},
  createState: () => undefined,
  async collect(_api, { signal }) {
    await sleep(60_000, undefined, { signal });
    return {};
  },
  samples: () => undefined,
});

export interface Orchard {
  readonly app: Exporter;
  /** The first address. */
  readonly url: string;
  /** Contains the web config file and the files that it names. */
  readonly folder: string;
  /** Replaces a file of the folder atomically, as certificate rotation should. */
  readonly write: (name: string, content: string) => Promise<void>;
  /** Everything logged so far, debug included. */
  readonly log: () => string;
}

export interface OrchardOptions {
  /** Flags as on the command line; by default one cluster and one free port. */
  readonly flags?: Flags;
  readonly env?: Environment;
  /** The web config file, and files beside it. */
  readonly webConfig?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly collectors?: readonly Collector[];
  readonly app?: Partial<ExporterOptions>;
}

const BUILD = { version: '1.2.3', revision: 'abc', nodeVersion: 'v24', platform: 'linux/x64' };

/** Runs the exporter with the collectors of this file until the test has ended. */
export async function startOrchard(options: OrchardOptions = {}): Promise<Orchard> {
  const collectors = options.collectors ?? COLLECTORS;
  const { webConfig, files } = options;
  const folder = await makeFolder({
    ...files,
    ...(webConfig !== undefined && { [WEB_CONFIG]: webConfig }),
  });
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const { config } = await loadConfig({
    flags: {
      'web.listen-address': ['127.0.0.1:0'],
      'cluster.url': ['http://127.0.0.1:9'],
      'cluster.name': 'orchard',
      ...(webConfig !== undefined && { 'web.config.file': path.join(folder, WEB_CONFIG) }),
      ...options.flags,
    },
    env: options.env ?? {},
    collectors,
  });
  const log = createLog({ level: 'debug', format: 'logfmt', destination });
  const app = await Exporter.start({
    config,
    collectors,
    build: BUILD,
    log,
    random: () => 0,
    companion: (daemon) => createStatus(daemon, log, PLAIN_FORM),
    fileCheckMs: 10,
    ...options.app,
  });
  onTestFinished(() => app.stop());
  return {
    app,
    url: app.addresses[0] ?? '',
    folder,
    async write(name, content) {
      await writeFile(path.join(folder, `${name}.new`), content);
      await rename(path.join(folder, `${name}.new`), path.join(folder, name));
    },
    log: () => lines.join(''),
  };
}

/** An orchard whose collectors have all been polled. */
export async function startPolledOrchard(
  options: OrchardOptions & { readonly request?: RequestOptions } = {},
): Promise<Orchard> {
  const orchard = await startOrchard(options);
  while ((await fetchPath(orchard.url, '/-/ready', options.request)).status !== 200) await sleep(5);
  return orchard;
}

/** Waits until the condition holds; the time limit of the test applies. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(5);
}
