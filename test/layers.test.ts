import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { COLLECTORS } from '../src/collectors/all-collectors.ts';

const ROOT = path.join(import.meta.dirname, '..');
const SRC = path.join(ROOT, 'src');

/** From top to bottom: an import goes down this list or stays in its folder. One line holds layers that do not import each other. */
const LAYERS: readonly (readonly string[])[] = [
  ['main'],
  ['cli'],
  ['status'],
  ['findings'],
  ['exporter'],
  ['polling'],
  ['collectors'],
  ['diagnosis'],
  ['cockroach'],
  ['http'],
  ['json', 'protobuf', 'metrics', 'config', 'log'],
  ['alerts'],
  [
    'vocabulary',
    'build',
    'collector-options',
    'format',
    'nearest-word',
    'source-stack',
    'batches',
    'numbers',
    'time-slice',
    'wall-clock',
    'url-fault',
  ],
];

/** Collectors use the API clients and declare metrics; the rest is handed to them. */
const CLOSED_TO_COLLECTORS = ['config', 'log'];
/** What collectors may know of requests: the error that one ends with, and the statistics of a poll. */
const OPEN_TO_COLLECTORS = ['http/errors.ts', 'http/poll-stats.ts'];

/** Folders that others enter by their index.ts alone. */
const WITH_A_DOOR = ['json', 'protobuf'];

/** Folders that use src, but not its command line, which alone knows the dashboards. */
const OUTSIDE = ['dashboards', 'tools'];

/** The most files that import each other in a row, type imports aside. */
const LONGEST_CHAIN = 20;

/** A package that does one job has one importer: a file, or the folder that ends in a slash. */
const IMPORTERS: Readonly<Record<string, string | readonly string[]>> = {
  '@bomb.sh/tab': ['cli/commands/completion.ts', 'cli/completed-words.ts'],
  '@bomb.sh/tab/commander': 'cli/completed-words.ts',
  bcryptjs: 'web/server/password-worker.ts',
  'cli-truncate': 'cli/output/table.ts',
  commander: 'cli/',
  express: 'web/server/app.ts',
  marked: 'web/status/runbooks.ts',
  'p-limit': 'http/client.ts',
  pbf: 'protobuf/message-reader.ts',
  pino: 'log.ts',
  'prom-client': 'metrics/exporter-metrics.ts',
  re2js: 'collectors/sessions/',
  'string-width': 'cli/output/table.ts',
  undici: 'http/',
  valibot: 'config/',
  yaml: ['alerts/rules-template.ts', 'config/document.ts', 'web/status/status-routes.ts'],
};

interface Import {
  readonly file: string;
  readonly target: string;
  /** `import type`, which Node.js leaves out. */
  readonly isType: boolean;
}

/** TypeScript files of a folder of the project, relative to it. */
function listFiles(folder: string): readonly string[] {
  const names = readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.ts'));
}

const files = listFiles('src');
const imports = files.flatMap((file) => readImports('src', file));
const ofSimulator = listFiles('simulator').flatMap((file) => readImports('simulator', file));
/** Imports of the files of src, dashboards and tools, all from the project's root. */
const everywhere = ['src', ...OUTSIDE].flatMap((folder) =>
  listFiles(folder).flatMap((file) =>
    readImports(folder, file).map(({ target, isType }) => ({
      file: `${folder}/${file}`,
      target: path.posix.join(folder, target),
      isType,
    })),
  ),
);

function readImports(folder: string, file: string): readonly Import[] {
  const text = readFileSync(path.join(ROOT, folder, file), 'utf8');
  const clauses = text.matchAll(/^(?:import|export)\s[^;]*?\bfrom\s+'([^']+)';/gms);
  const late = text.matchAll(/\bimport\('([^']+)'\)/g);
  return Array.from([...clauses, ...late], ([clause, specifier = '']) => ({
    file,
    target: targetOf(file, specifier),
    isType: /^(?:import|export) type /.test(clause),
  }));
}

function targetOf(file: string, specifier: string): string {
  return specifier.startsWith('.')
    ? path.posix.join(path.posix.dirname(file), specifier)
    : specifier;
}

function layerOf(file: string): string {
  if (file.startsWith('web/')) return file.startsWith('web/status/') ? 'status' : 'exporter';
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : file.replace(/\.ts$/, '');
}

function isAllowed({ file, target }: Import): boolean {
  const [from, to] = [layerOf(file), layerOf(target)];
  if (from === to) return true;
  if (/^\.\.\/(?:simulator|dashboards)\//.test(target)) return from === 'cli';
  if (WITH_A_DOOR.includes(to) && target !== `${to}/index.ts`) return false;
  if (from === 'collectors' && CLOSED_TO_COLLECTORS.includes(to)) return false;
  if (from === 'collectors' && to === 'http') return OPEN_TO_COLLECTORS.includes(target);
  return levelOf(from) !== -1 && levelOf(from) < levelOf(to);
}

function levelOf(layer: string): number {
  return LAYERS.findIndex((layers) => layers.includes(layer));
}

/** The longest way from file to file by these imports. Fails where one leads back to its start. */
function findLongestChain(chosen: readonly Import[]): readonly string[] {
  const targets = Map.groupBy(
    chosen.filter(({ target }) => target.endsWith('.ts')),
    ({ file }) => file,
  );
  const longest = new Map<string, readonly string[]>();
  const visit = (file: string, trail: readonly string[]): readonly string[] => {
    const known = longest.get(file);
    if (known !== undefined) return known;
    if (trail.includes(file)) {
      throw new Error(`a cycle: ${[...trail.slice(trail.indexOf(file)), file].join(' → ')}`);
    }
    const chains = (targets.get(file) ?? []).map(({ target }) => visit(target, [...trail, file]));
    const chain = [file, ...(chains.toSorted((a, b) => b.length - a.length)[0] ?? [])];
    longest.set(file, chain);
    return chain;
  };
  const chains = [...targets.keys()].map((file) => visit(file, []));
  return chains.toSorted((a, b) => b.length - a.length)[0] ?? [];
}

function collectorOf(file: string): string {
  return file.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}

describe('layers', () => {
  test('every import clause of src was read', () => {
    const written = files.flatMap(
      (file) =>
        readFileSync(path.join(SRC, file), 'utf8').match(/\bfrom '[^']+';$|\bimport\('/gm) ?? [],
    );
    expect(imports.length).toBe(written.length);
  });

  test('an import goes down or stays in its folder', () => {
    const ours = imports.filter(({ target }) => target.endsWith('.ts'));
    expect(ours.length).toBeGreaterThan(100);
    expect(ours.filter((one) => !isAllowed(one))).toEqual([]);
  });

  test('no imports form a cycle, type imports and those of dashboards and tools included', () => {
    expect(findLongestChain(everywhere).length).toBeGreaterThan(10);
  });

  test('at most 20 files import each other in a row', () => {
    const chain = findLongestChain(everywhere.filter(({ isType }) => !isType));
    expect(chain.length).toBeGreaterThan(10);
    expect(chain.length, chain.join(' → ')).toBeLessThanOrEqual(LONGEST_CHAIN);
  });

  test('dashboards and tools import nothing of the command line, and nothing behind a door', () => {
    const ofSrc = everywhere.filter(
      ({ file, target }) => !file.startsWith('src/') && target.startsWith('src/'),
    );
    expect(ofSrc.length).toBeGreaterThan(10);
    const violations = ofSrc.filter(({ target }) => {
      const layer = layerOf(target.slice('src/'.length));
      const isInside = WITH_A_DOOR.includes(layer) && target !== `src/${layer}/index.ts`;
      return ['main', 'cli'].includes(layer) || isInside;
    });
    expect(violations).toEqual([]);
  });

  test('the simulator imports only node: and itself', () => {
    expect(ofSimulator.length).toBeGreaterThan(100);
    const foreign = ofSimulator.filter(
      ({ target }) => target.startsWith('../') || !/^node:|\.ts$/.test(target),
    );
    expect(foreign).toEqual([]);
  });

  test('collectors do not import each other', () => {
    const collectorFiles = imports.filter(
      ({ file, target }) => file.startsWith('collectors/') && target.startsWith('collectors/'),
    );
    const violations = collectorFiles.filter(
      ({ file, target }) =>
        !['collector', 'top-list', collectorOf(file)].includes(collectorOf(target)) &&
        file !== 'collectors/index.ts',
    );
    expect(violations).toEqual([]);
  });

  test('each package has its one importer', () => {
    const packages = imports.filter(
      ({ target }) => !target.endsWith('.ts') && !target.startsWith('node:'),
    );
    const violations = packages.filter(({ file, target }) => {
      const importers = [IMPORTERS[target] ?? []].flat();
      return !importers.some(
        (importer) => file === importer || (importer.endsWith('/') && file.startsWith(importer)),
      );
    });
    expect(violations).toEqual([]);
    expect(new Set(packages.map(({ target }) => target))).toEqual(new Set(Object.keys(IMPORTERS)));
  });
});

describe('the list of collectors', () => {
  test('holds every collector of the folder, in a file or a folder of its name', () => {
    const entries = readdirSync(path.join(SRC, 'collectors'))
      .filter((name) => !['collector.ts', 'index.ts', 'top-list.ts'].includes(name))
      .map((name) => name.replace(/\.ts$/, ''));
    expect(COLLECTORS.map(({ name }) => name).toSorted()).toEqual(entries.toSorted());
  });

  test('names no family twice', () => {
    const names = COLLECTORS.flatMap(({ families }) => families.map(({ name }) => name));
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('files', () => {
  test('of src have a name each, but for the doors of folders and the collectors', () => {
    const own = files
      .map((file) => path.basename(file))
      .filter((name) => !['index.ts', 'collector.ts'].includes(name));
    expect(own.length).toBeGreaterThan(100);
    expect(own.filter((name, index) => own.indexOf(name) !== index)).toEqual([]);
  });

  test('of src do not stand beside a folder of their name', () => {
    const folders = new Set(files.map((file) => path.dirname(file)));
    expect(folders.size).toBeGreaterThan(10);
    expect([...folders].filter((folder) => files.includes(`${folder}.ts`))).toEqual([]);
  });

  test('none of src uses the data of languages, which takes 9 MiB of memory', () => {
    const users = files.filter((file) =>
      /\bIntl\.|\.toLocale\w*String\(|\.localeCompare\(/.test(
        readFileSync(path.join(SRC, file), 'utf8'),
      ),
    );
    expect(users).toEqual([]);
  });

  test('none of src is longer than 400 lines', () => {
    const long = files.filter(
      (file) => readFileSync(path.join(SRC, file), 'utf8').split('\n').length > 401,
    );
    expect(long).toEqual([]);
  });
});

describe('the runtime', () => {
  test('is Node 24 or newer, not a silent fall-back to an older one', () => {
    expect(Number(process.versions.node.split('.')[0])).toBeGreaterThanOrEqual(24);
  });
});
