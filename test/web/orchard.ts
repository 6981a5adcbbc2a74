import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { type App, type AppOptions, startApp } from '../../src/app.ts';
import { clusterCollector, type Collector } from '../../src/collectors/collector.ts';
import type { Flags } from '../../src/config/flags.ts';
import type { Environment } from '../../src/config/secret.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createLog } from '../../src/log.ts';
import { counter, type Family, gauge } from '../../src/metrics/family.ts';
import type { Sheet } from '../../src/metrics/sheet.ts';
import { makeFolder } from '../config/folder.ts';
import { ask, type Question } from './ask.ts';

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

/** Rooms that need no cluster: what is tested here is what happens to their data on its way out. */
export const ROOMS: readonly Collector[] = [
  manyTrees(TREES),
  room('pears', [PEARS], (sheet) => sheet.set(PEARS, { tree: 'old "one"\\\n' }, 7)),
];

export function manyTrees(count: number): Collector {
  return room('apples', [APPLES], (sheet) => {
    for (let tree = 0; tree < count; tree += 1) sheet.set(APPLES, { tree: `tree ${tree}` }, tree);
  });
}

function room(name: string, families: readonly Family[], write: (sheet: Sheet) => void): Collector {
  return clusterCollector({
    name,
    help: `The ${name}.`,
    privilege: 'GRANT NOTHING',
    intervalSeconds: 60,
    timeoutSeconds: 10,
    maxDuty: 1,
    enabledByDefault: true,
    families,
    options: {},
    createMemory: () => undefined,
    async collect(_api, sheet) {
      write(sheet);
      return undefined;
    },
  });
}

/** A room whose polls end only when they are aborted. */
export const SLEEPER: Collector = clusterCollector({
  name: 'sleeper',
  help: 'Nothing.',
  privilege: 'GRANT NOTHING',
  intervalSeconds: 60,
  timeoutSeconds: 60,
  maxDuty: 1,
  enabledByDefault: true,
  families: [],
  options: {},
  createMemory: () => undefined,
  async collect(_api, _sheet, { signal }) {
    await sleep(60_000, undefined, { signal });
    return undefined;
  },
});

export interface Orchard {
  readonly app: App;
  /** The first address. */
  readonly url: string;
  /** Where the web config file and what it names stand. */
  readonly folder: string;
  /** Replaces a file of the folder at once, as who rotates certificates should. */
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
  readonly app?: Partial<AppOptions>;
}

const BUILD = { version: '1.2.3', revision: 'abc', nodeVersion: 'v24', platform: 'linux/x64' };

/** Runs the exporter over the rooms of this file until the test has ended. */
export async function startOrchard(options: OrchardOptions = {}): Promise<Orchard> {
  const collectors = options.collectors ?? ROOMS;
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
  const app = await startApp({
    config,
    collectors,
    build: BUILD,
    log: createLog({ level: 'debug', format: 'logfmt', destination }),
    random: () => 0,
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

/** An orchard whose rooms have all been polled. */
export async function startPolledOrchard(
  options: OrchardOptions & { readonly ask?: Question } = {},
): Promise<Orchard> {
  const orchard = await startOrchard(options);
  while ((await ask(orchard.url, '/-/ready', options.ask)).status !== 200) await sleep(5);
  return orchard;
}

/** Waits for something to become so; a test that waits in vain ends by its own time limit. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(5);
}
