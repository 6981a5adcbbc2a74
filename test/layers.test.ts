import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { COLLECTORS } from '../src/collectors/all-collectors.ts';

const ROOT = path.join(import.meta.dirname, '..');
const SRC = path.join(ROOT, 'src');

/**
 * The rooms of src from top to bottom: an import goes down this list, to the door of a room, or stays in its room. One line holds
 * rooms that do not import each other.
 */
const LAYERS: readonly (readonly string[])[] = [
  ['main'],
  ['cli'],
  ['status'],
  ['exporter'],
  ['collectors'],
  ['cockroach'],
  ['json', 'metrics'],
  ['config'],
  ['alerts'],
  ['base'],
];
const ROOMS = LAYERS.flat().filter((room) => room !== 'main');

/** Folders that use src by its doors, but not its command line, which alone knows the dashboards. */
const OUTSIDE = ['dashboards', 'tools', 'bench'];

/** The most files of a room that import each other in a row, type imports aside. */
const LONGEST_CHAIN = 10;

/** A package that does one job has one importer: a file, or the folder that ends in a slash. */
const IMPORTERS: Readonly<Record<string, string | readonly string[]>> = {
  '@bomb.sh/tab': ['cli/commands/completion.ts', 'cli/completed-words.ts'],
  '@bomb.sh/tab/commander': 'cli/completed-words.ts',
  bcryptjs: 'exporter/server/password-worker.ts',
  'cli-truncate': 'cli/output/table.ts',
  commander: 'cli/',
  express: 'exporter/server/app.ts',
  marked: 'status/runbooks.ts',
  'p-limit': 'cockroach/http/client.ts',
  pbf: 'cockroach/protobuf/message-reader.ts',
  pino: 'base/log.ts',
  'prom-client': 'metrics/exporter-metrics.ts',
  re2js: 'collectors/sessions/',
  'string-width': 'cli/output/table.ts',
  undici: 'cockroach/http/',
  valibot: 'config/',
  yaml: ['alerts/rules-template.ts', 'config/document.ts', 'status/status-routes.ts'],
};

/** What names every collector. */
const LISTS: readonly string[] = [
  'collectors/all-collectors.ts',
  'collectors/collector-shapes.ts',
  'collectors/index.ts',
];

interface Import {
  readonly file: string;
  readonly target: string;
  /** `import type`, which Node.js leaves out. */
  readonly isType: boolean;
}

/** TypeScript files of a folder, from the root of the project. */
function listFiles(folder: string): readonly string[] {
  const names = readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.ts')).map((name) => `${folder}/${name}`);
}

const files = listFiles('src').map((file) => file.slice('src/'.length));
/** Imports of the files of src, from src. */
const imports = listFiles('src').flatMap(readImports).map(fromSrc);
const ofSimulator = listFiles('simulator').flatMap(readImports);
/** Imports of the files of src and outside of it, all from the project's root. */
const everywhere = ['src', ...OUTSIDE].flatMap((folder) => listFiles(folder).flatMap(readImports));

function readImports(file: string): readonly Import[] {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  const clauses = text.matchAll(/^(?:import|export)\s[^;]*?\bfrom\s+'([^']+)';/gms);
  const late = text.matchAll(/\bimport\('([^']+)'\)/g);
  return Array.from([...clauses, ...late], ([clause, specifier = '']) => ({
    file,
    target: targetOf(file, specifier),
    isType: /^(?:import|export) type /.test(clause),
  }));
}

function targetOf(file: string, specifier: string): string {
  if (specifier.startsWith('#')) return `src/${specifier.slice(1)}/index.ts`;
  return specifier.startsWith('.')
    ? path.posix.join(path.posix.dirname(file), specifier)
    : specifier;
}

function fromSrc({ file, target, isType }: Import): Import {
  const [ownFile, ownTarget] = [file, target].map((each) =>
    each.startsWith('src/') ? each.slice('src/'.length) : each,
  );
  return { file: ownFile ?? '', target: ownTarget ?? '', isType };
}

function layerOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : file.replace(/\.ts$/, '');
}

function isAllowed({ file, target }: Import): boolean {
  const [from, to] = [layerOf(file), layerOf(target)];
  if (from === to) return target !== `${to}/index.ts`;
  if (['simulator', 'dashboards'].includes(to)) return from === 'cli';
  // Collectors get their configuration; what polls them reads it.
  if (from === 'collectors' && to === 'config') return file.startsWith('collectors/polling/');
  return target === `${to}/index.ts` && levelOf(from) < levelOf(to);
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

  test('at most 10 files of a room import each other in a row', () => {
    const within = imports.filter(
      ({ file, target, isType }) =>
        !isType && layerOf(file) === layerOf(target) && path.basename(file) !== 'index.ts',
    );
    const chain = findLongestChain(within);
    expect(chain.length).toBeGreaterThan(5);
    expect(chain.length, chain.join(' → ')).toBeLessThanOrEqual(LONGEST_CHAIN);
  });

  test('dashboards, tools and benchmarks import nothing of the command line, and rooms by their doors', () => {
    const ofSrc = everywhere.filter(
      ({ file, target }) => !file.startsWith('src/') && target.startsWith('src/'),
    );
    expect(ofSrc.length).toBeGreaterThan(10);
    const doors = ROOMS.filter((room) => room !== 'cli').map((room) => `src/${room}/index.ts`);
    expect(ofSrc.filter(({ target }) => !doors.includes(target))).toEqual([]);
  });

  test('package.json names each room, and no other', () => {
    const { imports: named } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
    const doors = ROOMS.map((room) => [`#${room}`, `./src/${room}/index.ts`]);
    expect(named).toEqual(Object.fromEntries(doors));
    const folders = readdirSync(SRC, { withFileTypes: true });
    expect(folders.flatMap((each) => (each.isDirectory() ? [each.name] : [])).toSorted()).toEqual(
      ROOMS.toSorted(),
    );
    expect(files.filter((file) => !file.includes('/'))).toEqual(['main.ts']);
  });

  test('the simulator imports only node: and itself', () => {
    expect(ofSimulator.length).toBeGreaterThan(100);
    const foreign = ofSimulator.filter(({ target }) => !/^node:|^simulator\/.*\.ts$/.test(target));
    expect(foreign).toEqual([]);
  });

  test('collectors do not import each other', () => {
    const collectorFiles = imports.filter(
      ({ file, target }) => file.startsWith('collectors/') && target.startsWith('collectors/'),
    );
    const violations = collectorFiles.filter(
      ({ file, target }) =>
        !['collector', 'stable-ranking', collectorOf(file)].includes(collectorOf(target)) &&
        collectorOf(file) !== 'polling' &&
        !LISTS.includes(file),
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
      .filter((name) => !['collector.ts', 'stable-ranking.ts', 'polling'].includes(name))
      .filter((name) => !LISTS.includes(`collectors/${name}`))
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

  test('none of src is longer than 400 lines without its imports', () => {
    const long = files.filter((file) => {
      const text = readFileSync(path.join(SRC, file), 'utf8');
      return text.replace(/^import\s[^;]*;\n/gms, '').split('\n').length > 401;
    });
    expect(long).toEqual([]);
  });
});

describe('the runtime', () => {
  test('is Node 24 or newer, not a silent fall-back to an older one', () => {
    expect(Number(process.versions.node.split('.')[0])).toBeGreaterThanOrEqual(24);
  });
});
