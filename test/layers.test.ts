import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { COLLECTORS } from '../src/collectors/index.ts';

const ROOT = path.join(import.meta.dirname, '..');
const SRC = path.join(ROOT, 'src');

/** From top to bottom: an import goes down this list or stays in its folder. One line holds layers that do not import each other. */
const LAYERS: readonly (readonly string[])[] = [
  ['main'],
  ['cli'],
  ['exporter'],
  ['web'],
  ['findings'],
  ['polling'],
  ['collectors'],
  ['diagnosis'],
  ['cockroach'],
  ['http'],
  ['json', 'metrics', 'config', 'log'],
  ['vocabulary', 'collector-options', 'format', 'sum', 'time-slice'],
];

/** Collectors use the API clients and declare metrics; the rest is handed to them. */
const CLOSED_TO_COLLECTORS = ['http', 'config', 'log'];

/** A package that does one job has one importer: a file, or the folder that ends in a slash. */
const IMPORTERS: Readonly<Record<string, string>> = {
  '@bomb.sh/tab': 'cli/commands/completion.ts',
  '@bomb.sh/tab/commander': 'cli/program.ts',
  bcryptjs: 'web/server/password-worker.ts',
  'cli-truncate': 'cli/output/table.ts',
  commander: 'cli/',
  express: 'web/server/app.ts',
  'p-limit': 'http/client.ts',
  pino: 'log.ts',
  'prom-client': 'metrics/exporter-metrics.ts',
  re2js: 'collectors/sessions/',
  'string-width': 'cli/output/table.ts',
  undici: 'http/',
  valibot: 'config/',
  yaml: 'config/document.ts',
};

interface Import {
  readonly file: string;
  readonly target: string;
}

/** TypeScript files of a folder of the project, relative to it. */
function listFiles(folder: string): readonly string[] {
  const names = readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.ts'));
}

const files = listFiles('src');
const imports = files.flatMap((file) => readImports('src', file));
const ofSimulator = listFiles('simulator').flatMap((file) => readImports('simulator', file));

function readImports(folder: string, file: string): readonly Import[] {
  const text = readFileSync(path.join(ROOT, folder, file), 'utf8');
  const clauses = text.matchAll(/^(?:import|export)\s[^;]*?\bfrom\s+'([^']+)';/gms);
  const late = text.matchAll(/\bimport\('([^']+)'\)/g);
  return [
    ...Array.from(clauses, ([, specifier = '']) => ({ file, target: targetOf(file, specifier) })),
    ...Array.from(late, ([, specifier = '']) => ({ file, target: targetOf(file, specifier) })),
  ];
}

function targetOf(file: string, specifier: string): string {
  return specifier.startsWith('.')
    ? path.posix.join(path.posix.dirname(file), specifier)
    : specifier;
}

function layerOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : file.replace(/\.ts$/, '');
}

function isAllowed({ file, target }: Import): boolean {
  const [from, to] = [layerOf(file), layerOf(target)];
  if (from === to) return true;
  if (target.startsWith('../simulator/')) return from === 'cli';
  if (from === 'collectors' && CLOSED_TO_COLLECTORS.includes(to)) return false;
  return levelOf(from) !== -1 && levelOf(from) < levelOf(to);
}

function levelOf(layer: string): number {
  return LAYERS.findIndex((layers) => layers.includes(layer));
}

/** Files on a path of imports, type imports included, that leads back to its start. */
function findCycle(): readonly string[] {
  const targets = Map.groupBy(imports, ({ file }) => file);
  const finished = new Set<string>();
  const visit = (file: string, trail: readonly string[]): readonly string[] => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file];
    if (finished.has(file)) return [];
    for (const { target } of targets.get(file) ?? []) {
      const cycle = visit(target, [...trail, file]);
      if (cycle.length > 0) return cycle;
    }
    finished.add(file);
    return [];
  };
  for (const file of files) {
    const cycle = visit(file, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
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

  test('no imports form a cycle', () => {
    expect(findCycle()).toEqual([]);
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
      const importer = IMPORTERS[target];
      return (
        importer === undefined ||
        !(file === importer || (importer.endsWith('/') && file.startsWith(importer)))
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
