import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { COLLECTORS } from '../src/collectors/index.ts';

const SRC = path.join(import.meta.dirname, '..', 'src');

/**
 * Which folders (or single files) each folder may import from besides itself; `type:` allows types
 * only. A folder that is not named here, like cli, may import everything.
 */
const FLOORS: Readonly<Record<string, readonly string[]>> = {
  json: [],
  metrics: [],
  config: [],
  log: [],
  simulator: [],
  http: ['json'],
  cluster: ['http', 'json'],
  cloud: ['http', 'json'],
  collectors: [
    'type:cluster',
    'type:cloud',
    'metrics/family',
    'metrics/sheet',
    'metrics/slice',
    'metrics/label-text',
    'json/shape',
  ],
  poll: ['collectors/collector', 'metrics', 'log'],
  web: ['type:poll', 'metrics', 'config', 'log'],
};

/** A package that does one job has one importer: a file, or the folder that ends in a slash. */
const IMPORTERS: Readonly<Record<string, string>> = {
  '@inquirer/confirm': 'cli/confirm.ts',
  bcryptjs: 'web/password-worker.ts',
  'cli-truncate': 'cli/grid.ts',
  commander: 'cli/',
  express: 'web/handler.ts',
  ora: 'cli/progress.ts',
  'p-limit': 'http/client.ts',
  pino: 'log.ts',
  'prom-client': 'metrics/self.ts',
  re2js: 'collectors/sessions/',
  'string-width': 'cli/grid.ts',
  undici: 'http/',
  valibot: 'config/',
  yaml: 'config/document.ts',
};

interface Import {
  readonly file: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);
const imports = files.flatMap(readImports);

function readImports(file: string): readonly Import[] {
  const text = readFileSync(path.join(SRC, file), 'utf8');
  const clauses = text.matchAll(/^(?:import|export)\s([^;]*?)\bfrom\s+'([^']+)';/gms);
  const late = text.matchAll(/\bimport\('([^']+)'\)/g);
  return [
    ...Array.from(clauses, ([, names = '', specifier = '']) => ({
      file,
      target: targetOf(file, specifier),
      typeOnly: names.startsWith('type ') || isTypesOnly(names),
    })),
    ...Array.from(late, ([, specifier = '']) => ({
      file,
      target: targetOf(file, specifier),
      typeOnly: false,
    })),
  ];
}

function targetOf(file: string, specifier: string): string {
  return specifier.startsWith('.')
    ? path.posix.join(path.posix.dirname(file), specifier)
    : specifier;
}

function isTypesOnly(names: string): boolean {
  const listed = /^\{([^}]*)\}\s*$/s.exec(names)?.[1]?.split(',') ?? [''];
  return (
    listed.every((name) => name.trim() === '' || name.trim().startsWith('type ')) &&
    listed.some((name) => name.trim() !== '')
  );
}

function floorOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : file.replace(/\.ts$/, '');
}

function isAllowed({ file, target, typeOnly }: Import): boolean {
  const floor = floorOf(file);
  const allowed = FLOORS[floor];
  if (allowed === undefined || floorOf(target) === floor) return true;
  return allowed.some((rule) => {
    const place = rule.replace(/^type:/, '');
    const within = target === `${place}.ts` || target.startsWith(`${place}/`);
    return within && (typeOnly || !rule.startsWith('type:'));
  });
}

function roomOf(file: string): string {
  return file.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}

describe('the floors of the house', () => {
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

  test('the simulator imports only node: and itself', () => {
    const foreign = imports.filter(
      ({ file, target }) =>
        file.startsWith('simulator/') &&
        !target.startsWith('simulator/') &&
        !target.startsWith('node:'),
    );
    expect(foreign).toEqual([]);
  });

  test('nothing of the product but the command line imports the simulator', () => {
    const users = imports.filter(({ target }) => target.startsWith('simulator/'));
    const strangers = users.filter(({ file }) => !/^(?:simulator|cli)\//.test(file));
    expect(strangers).toEqual([]);
  });

  test('rooms do not import each other', () => {
    const rooms = imports.filter(
      ({ file, target }) => file.startsWith('collectors/') && target.startsWith('collectors/'),
    );
    const strangers = rooms.filter(
      ({ file, target }) =>
        !['collector', roomOf(file)].includes(roomOf(target)) && file !== 'collectors/index.ts',
    );
    expect(strangers).toEqual([]);
  });

  test('each package has its one importer', () => {
    const packages = imports.filter(
      ({ target }) => !target.endsWith('.ts') && !target.startsWith('node:'),
    );
    const strangers = packages.filter(({ file, target }) => {
      const importer = IMPORTERS[target];
      return (
        importer === undefined ||
        !(file === importer || (importer.endsWith('/') && file.startsWith(importer)))
      );
    });
    expect(strangers).toEqual([]);
    expect(new Set(packages.map(({ target }) => target))).toEqual(new Set(Object.keys(IMPORTERS)));
  });
});

describe('the list of collectors', () => {
  test('holds every room of the folder, in a file of its name', () => {
    const rooms = readdirSync(path.join(SRC, 'collectors'))
      .filter((name) => name.endsWith('.ts') && !['collector.ts', 'index.ts'].includes(name))
      .map((name) => name.replace(/\.ts$/, ''));
    expect(COLLECTORS.map(({ name }) => name).toSorted()).toEqual(rooms.toSorted());
  });

  test('names no family twice', () => {
    const names = COLLECTORS.flatMap(({ families }) => families.map(({ name }) => name));
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('files', () => {
  test('none of src is longer than 300 lines', () => {
    const long = files.filter(
      (file) => readFileSync(path.join(SRC, file), 'utf8').split('\n').length > 301,
    );
    expect(long).toEqual([]);
  });
});

describe('the runtime', () => {
  test('is Node 24 or newer, not a silent fall-back to an older one', () => {
    expect(Number(process.versions.node.split('.')[0])).toBeGreaterThanOrEqual(24);
  });
});
