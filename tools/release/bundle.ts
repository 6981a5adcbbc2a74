import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { ROOT } from './programs.ts';

/** A package of which parts are in the bundle. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** Its checksum in the registry, as in package-lock.json: `sha512-` and base64. */
  readonly integrity: string;
  /** Its SPDX identifier. */
  readonly license: string;
  /** The text of its licence file; undefined when it has none. */
  readonly licenseText: string | undefined;
}

/** The entries, each with the name of its file: the program, and the thread that compares passwords. */
const ENTRIES = {
  main: 'src/main.ts',
  'password-worker': 'src/exporter/server/password-worker.ts',
};

/**
 * Modules that packages load but the program never calls, with what replaces them: they would be two thirds of the memory of
 * its code. The tests of the packed program fail where one of them is needed.
 */
const REPLACED: readonly (readonly [module: RegExp, text: string])[] = [
  // Bodies of requests, files, types of content, signed cookies and checksums of responses.
  [
    /\/node_modules\/(?:body-parser|cookie-signature|etag|mime-types|qs\/lib|send|serve-static)\/index\.js$/,
    '',
  ],
  // Agents of HTTP/1.1, without fetch, WebSocket, caches, interceptors and mocks.
  [
    /\/node_modules\/undici\/index\.js$/,
    `Object.assign(require('./lib/dispatcher/dispatcher').prototype, require('./lib/api'));
     exports.Agent = require('./lib/dispatcher/agent');
     exports.EnvHttpProxyAgent = require('./lib/dispatcher/env-http-proxy-agent');
     exports.Pool = require('./lib/dispatcher/pool');
     exports.buildConnector = require('./lib/core/connect');`,
  ],
  [/\/node_modules\/undici\/lib\/(?:web\/.*|milo\/.*|dispatcher\/client-h2)\.js$/, ''],
  // Another parser of HTTP/1.1, and the usual one without SIMD.
  [/\/undici\/lib\/dispatcher\/parser-h1\.js$/, 'exports.getMiloEnabled = () => false;'],
  [/\/undici\/lib\/llhttp\/llhttp-wasm\.js$/, `module.exports = require('./llhttp_simd-wasm.js');`],
  // Logs in other threads, metrics of other processes, push gateways and summaries.
  [/\/node_modules\/pino\/lib\/(?:multistream|transport)\.js$/, ''],
  [/\/node_modules\/prom-client\/lib\/(?:cluster|pushgateway|summary)\.js$/, ''],
  // Dashboards of another schema than the one that the program writes.
  [
    /\/grafana-foundation-sdk\/dist\/(?:dashboardv2\w*\/.*|\w+\/visualization(?:V2)?Builder\.gen)\.js$/,
    '',
  ],
  // Traces, whose spans would be the exemplars of metrics.
  [/\/node_modules\/@opentelemetry\/api\/dist\/index\.cjs$/, ''],
];

/** A module of Node.js as a whole: rolldown makes a copy of it for each file, with a function for each member, 100 kB in all. */
const DEFAULT_IMPORT = /^import (\w+) from '(node:\w+)';$/gm;

const replaceUnused: Plugin = {
  name: 'replace-unused',
  load: {
    filter: { id: REPLACED.map(([module]) => module) },
    handler: (id) => REPLACED.find(([module]) => module.test(id))?.[1],
  },
  transform: {
    filter: { code: DEFAULT_IMPORT },
    // Lines stay where they are, and with them the source map.
    handler: (code) => ({
      code: code
        // Commander would load it for commands in files of their own.
        .replace(/^import childProcess .*$/m, '')
        .replaceAll(DEFAULT_IMPORT, "const $1 = globalThis.process.getBuiltinModule('$2');"),
      map: null,
    }),
  },
};

/**
 * Compiles the program and its packages to a few files in this folder, which must be one level below the root of the package,
 * since the files are found from there. Resolves to the packages inside, by name.
 */
export async function bundleProgram(folder: string): Promise<readonly BundledPackage[]> {
  await using bundle = await rolldown({
    cwd: ROOT,
    input: ENTRIES,
    platform: 'node',
    plugins: [replaceUnused],
    tsconfig: path.join(ROOT, 'tsconfig.json'),
    // A warning is a fault of the bundle.
    onLog: (level, log) => {
      throw new Error(`${level}: ${log.message}`);
    },
  });
  await bundle.write({
    dir: folder,
    cleanDir: true,
    // Node.js loads CommonJS in less time than ECMAScript modules, and in less memory.
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    sourcemap: true,
    sourcemapExcludeSources: true,
    // V8 keeps the text of the program in memory, in twice as much if it has other characters. Names of functions are for stacks.
    charset: 'ascii',
    comments: false,
    minify: { compress: true, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
  });
  return listBundled(folder);
}

/** The packages of which parts are in what `bundleProgram` has written, by name, as the source maps say. */
export function listBundled(folder: string): readonly BundledPackage[] {
  const maps = readdirSync(folder).filter((name) => name.endsWith('.map'));
  const modules = maps.flatMap((name) => {
    const map: { readonly sources: readonly string[] } = JSON.parse(
      readFileSync(path.join(folder, name), 'utf8'),
    );
    return map.sources.map((source) => path.resolve(folder, source));
  });
  const folders = new Set(modules.flatMap((module) => folderOfPackage(module) ?? []));
  return [...folders].map(readPackage).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The folder of the package that a module belongs to; undefined for a module of the program itself. */
function folderOfPackage(module: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(module)?.[0];
}

function readPackage(folder: string): BundledPackage {
  const manifest: { readonly name: string; readonly license: string } = JSON.parse(
    readFileSync(path.join(folder, 'package.json'), 'utf8'),
  );
  const place = path.relative(ROOT, folder);
  const locked = readLock()[place];
  if (locked === undefined) throw new Error(`package-lock.json has no ${place}`);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(?:\.\w+)?$/i.test(entry));
  return {
    name: manifest.name,
    version: locked.version,
    integrity: locked.integrity,
    license: manifest.license,
    licenseText: file === undefined ? undefined : readFileSync(path.join(folder, file), 'utf8'),
  };
}

/** The packages of package-lock.json, by their place in the checkout. */
function readLock(): Readonly<Record<string, Pick<BundledPackage, 'version' | 'integrity'>>> {
  return JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')).packages;
}
