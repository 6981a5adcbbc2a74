import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  globSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { hashSync } from 'bcryptjs';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { findDeadLinks } from '../../tools/release/links.ts';
import { readScrape } from '../support/exporter.ts';
import { hasProgram } from '../support/programs.ts';
import { eventually } from '../support/prometheus.ts';
import {
  type Artefacts,
  buildTestArtefacts,
  expand,
  installPackage,
  listTarball,
  printEachHelp,
  unpackShared,
  writeNextVersion,
} from './artefacts.ts';
import { ANY_PORTS, ROOT, runProgram } from './installed.ts';

const TOOLS = import.meta.dirname;
const ALWAYS_PACKED = ['LICENSE', 'README.md', 'package.json'];
const MAX_PACKAGE_BYTES = 3 * 1024 * 1024;

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly files?: readonly string[];
}

const manifest = readManifest(ROOT);

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
}

function readSource(name: string): string {
  return readFileSync(path.join(ROOT, name), 'utf8');
}

let artefacts: Artefacts;
/** The installed package. */
let home: string;
/** The program of `npx`. */
let command: string;

beforeAll(async () => {
  artefacts = await buildTestArtefacts();
  const modules = installPackage(artefacts.find('.tgz') ?? '', artefacts.makeFolder('project'));
  home = path.join(modules, 'crdb-exporter');
  command = path.join(modules, '.bin', 'crdb-exporter');
  // The returned function runs after all tests, unless this one failed.
  return () => artefacts[Symbol.dispose]();
}, 600_000);

function run(...args: readonly string[]): { status: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: artefacts.folder,
    encoding: 'utf8',
  });
  return { status, out: stdout, err: stderr };
}

describe('the npm package', () => {
  test('contains only the files of package.json and the compiled program with its source maps', () => {
    const names = listTarball(artefacts.find('.tgz') ?? '').map((name) =>
      name.replace('package/', ''),
    );
    const [compiled, others] = [true, false].map((wanted) =>
      names.filter((name) => name.startsWith('dist/') === wanted),
    );
    const { files = [] } = manifest;
    const expected = [
      ...ALWAYS_PACKED,
      ...files.flatMap((entry) => (entry === 'dist' ? [] : expand(entry))),
    ];
    expect(others?.toSorted()).toEqual(expected.toSorted());
    const modules = compiled?.filter((name) => name.endsWith('.cjs')) ?? [];
    expect(modules).toContain('dist/main.cjs');
    expect(modules).toContain('dist/password-worker.cjs');
    const unexpected = compiled?.filter((name) => !/\.cjs(?:\.map)?$/.test(name));
    expect(unexpected?.toSorted()).toEqual(['dist/THIRD-PARTY-LICENSES', 'dist/revision']);
  });

  test('has no link in its pages that leads out of it', () => {
    expect(findDeadLinks(home)).toEqual([]);
    const page = readFileSync(path.join(home, 'docs/dashboards.md'), 'utf8');
    expect(page).toContain('(how they are tested)');
    expect(page).not.toContain('.png');
  });

  test('is small, and installs and runs nothing else', () => {
    expect(statSync(artefacts.find('.tgz') ?? '').size).toBeLessThan(MAX_PACKAGE_BYTES);
    const unlisted = new Set(Object.keys(manifest)).difference(
      new Set(Object.keys(readManifest(home))),
    );
    expect(unlisted).toEqual(new Set(['imports', 'workspaces', 'scripts', 'devDependencies']));
    const { dependencies, optionalDependencies } = readManifest(home);
    expect([dependencies, optionalDependencies]).toEqual([undefined, undefined]);
    const installed = readdirSync(path.dirname(home)).filter((name) => !name.startsWith('.'));
    expect(installed).toEqual(['crdb-exporter']);
  });

  test('has the licence of every package that is part of it', () => {
    const maps = globSync('*.map', { cwd: path.join(home, 'dist') });
    const sources = maps.flatMap((name) => {
      const map: { readonly sources: readonly string[] } = JSON.parse(
        readFileSync(path.join(home, 'dist', name), 'utf8'),
      );
      return map.sources;
    });
    const inside = sources.flatMap(
      (source) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? [],
    );
    expect(inside).toContain('express');
    const text = readFileSync(path.join(home, 'dist/THIRD-PARTY-LICENSES'), 'utf8');
    const sections = text.split(/^=== /m).slice(1);
    const names = sections.map((section) => section.split(' ')[0] ?? '');
    expect(new Set(inside).difference(new Set(names))).toEqual(new Set());
    const short = sections.filter((section) => !/Permission|Redistribution|Licensed/.test(section));
    expect(short).toEqual([]);
  });
});

describe('the installed package', () => {
  test('explains at its start that Node.js lacks WebAssembly', () => {
    const main = path.join(home, 'dist', 'main.cjs');
    const { status, stderr } = spawnSync(process.execPath, ['--jitless', main, 'check'], {
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/cannot run WebAssembly with SIMD.*start it without --jitless/);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  test('prints its version and revision', () => {
    const { status, out } = run('--version');
    const revision = readFileSync(path.join(home, 'dist/revision'), 'utf8').trim();
    expect(out).toContain(`crdb-exporter ${manifest.version} (revision ${revision}, Node.js v`);
    expect(status).toBe(0);
  });

  test('writes the rules, the dashboards and the description of the metrics', () => {
    expect(run('rules').out).toBe(readSource('config/prometheus/rules.yml'));
    expect(run('reference').out).toBe(readSource('docs/metrics.md'));
    const folder = artefacts.makeFolder('dashboards');
    expect(run('dashboards', '--output', folder).status).toBe(0);
    const boards = globSync('dashboards/*.json', { cwd: ROOT });
    expect(boards.length).toBeGreaterThan(5);
    for (const board of boards) {
      const written = readFileSync(path.join(folder, path.basename(board)), 'utf8');
      expect(written).toBe(readSource(board));
    }
  });

  test('has a file for each command', () => {
    const words = run('--help').out.matchAll(/^ {2}([a-z]+) /gm);
    const names = Array.from(words, ([, name = '']) => name).filter((name) => name !== 'help');
    expect(names.length).toBeGreaterThan(15);
    const help = printEachHelp(path.join(home, 'dist', 'main.cjs'), names);
    const helped = Array.from(help.matchAll(/^Usage: crdb-exporter (\S+)/gm), ([, name]) => name);
    expect(helped).toEqual(names);
  });

  test('monitors the simulator of another process, with the page, passwords and compressed responses, and names source files in a stack', async () => {
    await using simulator = runProgram(command, [
      'simulate',
      '--ranges=50',
      '--tls',
      '--listen=127.0.0.1:0',
      '--cloud-listen=127.0.0.1:0',
    ]);
    const [, flags = ''] = await simulator.said(/crdb-exporter\.cjs (--cluster\.url=.*)/);
    const folder = artefacts.makeFolder('configured');
    writeFileSync(
      path.join(folder, 'web.yml'),
      `basic_auth_users: { ada: '${hashSync('secret', 4)}' }\n`,
    );
    const args = [
      ...flags.split(' '),
      '--log.level=debug',
      '--web.listen-address=127.0.0.1:0',
      `--web.config.file=${path.join(folder, 'web.yml')}`,
    ];
    await using exporter = runProgram(command, args, {
      ...process.env,
      CRDB_EXPORTER_CLUSTER_PASSWORD: 'exporter-demo',
    });
    const [, address = ''] = await exporter.said(/msg=listening address=(\S+)/);
    const get = async (target: string, password = 'secret'): Promise<Response> =>
      fetch(new URL(target, address), {
        headers: { authorization: `Basic ${btoa(`ada:${password}`)}` },
      });
    expect((await get('/metrics', 'wrong')).status).toBe(401);
    const scrape = await eventually(async () => {
      const response = await get('/metrics');
      expect(response.headers.get('content-encoding')).toBe('gzip');
      const seen = readScrape(await response.text());
      return seen.all('crdb_ranges').length > 0 && seen.all('crdb_nodes').length > 0
        ? seen
        : undefined;
    });
    expect(scrape.value('crdb_up', { api: 'cluster' })).toBe(1);
    const page = await (await get('/')).text();
    const files = Array.from(page.matchAll(/(?:href|src)="(-\/[^"]+)"/g), ([, file = '']) => file);
    expect(files.length).toBeGreaterThan(2);
    for (const file of files) expect([file, (await get(`/${file}`)).status]).toEqual([file, 200]);
    expect((await get('/runbooks/CrdbNodeDead')).status).toBe(200);
    expect(await simulator.stop()).toBe(0);
    const ended = exporter.stop();
    // The logout fails: its stack names the files of src.
    await exporter.said(/msg="logout failed.* stack=".*\/src\/cockroach\/http\/errors\.ts:\d+:\d+/);
    expect(await ended).toBe(0);
  });

  test('reaches a cluster through a proxy', async () => {
    await using simulator = await startSimulator({ nodes: 3, ranges: 20, frozen: true });
    const { port } = new URL(simulator.clusterUrl);
    // It knows one way, wherever clients want to go.
    const proxy = http.createServer((request, response) => {
      const { method, headers } = request;
      const { pathname, search } = new URL(request.url ?? '');
      const forwarded = http.request({ port, method, headers, path: `${pathname}${search}` });
      forwarded.on('response', (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      });
      request.pipe(forwarded);
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void proxy.close());
    const address = proxy.address();
    const args = [
      '--cluster.url=http://crdb.example:8080',
      `--cluster.username=${simulator.username}`,
    ];
    const { stdout } = await promisify(execFile)(command, ['probe', ...args], {
      env: {
        ...process.env,
        http_proxy: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
        CRDB_EXPORTER_CLUSTER_PASSWORD: simulator.password,
      },
      maxBuffer: 2 ** 26,
    });
    expect(readScrape(stdout).value('crdb_nodes', { status: 'live' })).toBe(3);
  });
});

describe('the tarball', () => {
  let folder: string;
  let names: readonly string[];
  beforeAll(() => {
    folder = artefacts.makeFolder('unpacked');
    const args = ['-xzvf', artefacts.find('.tar.gz') ?? '', '-C', folder];
    names = spawnSync('tar', args, { encoding: 'utf8' }).stdout.trimEnd().split('\n');
  });

  test('runs where it is unpacked, with its own Node.js', async () => {
    const [name = ''] = readdirSync(folder);
    expect(name).toMatch(/^crdb-exporter-\d+\.\d+\.\d+\.linux-(?:amd64|arm64)$/);
    const program = path.join(folder, name, 'bin', 'crdb-exporter');
    // The start script needs two programs of the system, and no Node.js.
    const env = { PATH: '/usr/bin:/bin' };
    await using demo = runProgram(program, ['demo', ...ANY_PORTS], env);
    const [url] = await demo.said(/http:\/\/\S+\/metrics/);
    await eventually(async () => {
      const seen = readScrape(await (await fetch(url)).text());
      return seen.all('crdb_ranges').length > 0 ? seen : undefined;
    });
    const started = readFileSync(`/proc/${demo.child.pid}/cmdline`, 'utf8').split('\0');
    expect(path.resolve(started[0] ?? '')).toBe(path.join(folder, name, 'bin', 'node'));
    // The commands of the page need no other Node.js, either.
    const status: unknown = await (await fetch(new URL('/api/status', url))).json();
    expect(status).toMatchObject({ commands: { program } });
    expect(await demo.stop()).toBe(0);
  });

  test('has the unit, the examples, the rules, the dashboards, the runbooks and the licences', () => {
    expect(names.map((name) => name.slice(name.indexOf('/') + 1))).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'bin/LICENSE.node',
        'config/exporter.example.yml',
        'config/prometheus/rules.yml',
        'config/systemd/crdb-exporter.service',
        'dashboards/crdb-overview.json',
        'dist/THIRD-PARTY-LICENSES',
        'docs/runbooks/CrdbNodeDead.md',
      ]),
    );
  });
});

describe('the bill of materials and the checksums', () => {
  test('name what is inside, and every artefact', () => {
    const sums = readFileSync(path.join(artefacts.folder, 'checksums.txt'), 'utf8').trim();
    const listed = sums.split('\n').map((line) => line.split('  ')[1] ?? '');
    const built = readdirSync(artefacts.folder).filter((name) => name !== 'checksums.txt');
    expect(listed.toSorted()).toEqual(built.toSorted());
    const bill = readFileSync(path.join(artefacts.folder, 'sbom.cdx.json'));
    expect(sums).toContain(`${createHash('sha256').update(bill).digest('hex')}  sbom.cdx.json`);
    const { bomFormat, components }: Bill = JSON.parse(String(bill));
    expect(bomFormat).toBe('CycloneDX');
    const names = components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['node', 'express', 'undici']));
    expect(names.filter((name) => /^(?:vitest|typescript|rolldown)$/.test(name))).toEqual([]);
  });
});

interface Bill {
  readonly bomFormat: string;
  readonly components: readonly { readonly name: string }[];
}

/** The installation in a copy of this system needs to mount one. */
const CAN_INSTALL =
  ['nfpm', 'dpkg-deb', 'systemctl', 'unshare'].every(hasProgram) &&
  process.getuid?.() === 0 &&
  readFileSync('/proc/filesystems', 'utf8').includes('overlay');

describe.skipIf(!CAN_INSTALL)('the .deb (needs nfpm, dpkg, systemctl, root and overlayfs)', () => {
  test('has a page of the manual, and completes commands in three shells', () => {
    const folder = unpackShared(artefacts.find('.deb') ?? '', artefacts.makeFolder('share'));
    const readShared = (name: string): Buffer => readFileSync(path.join(folder, name));
    const page = String(gunzipSync(readShared('man/man1/crdb-exporter.1.gz')));
    expect(page).toContain(String.raw`\-\-config.file <path>`);
    const completions = {
      bash: 'bash-completion/completions/crdb-exporter',
      zsh: 'zsh/vendor-completions/_crdb-exporter',
      fish: 'fish/vendor_completions.d/crdb-exporter.fish',
    };
    for (const [shell, name] of Object.entries(completions)) {
      expect(String(readShared(name))).toBe(run('completion', shell).out);
    }
  });

  test('is installed, run, upgraded, removed and purged, also without a working systemctl, and keeps the configuration', () => {
    const packages = artefacts.makeFolder('packages');
    const first = path.join(packages, 'first.deb');
    copyFileSync(artefacts.find('.deb') ?? '', first);
    writeNextVersion(first, path.join(packages, 'second.deb'), artefacts.makeFolder('second'));
    copyFileSync(path.join(TOOLS, 'try-deb.sh'), path.join(packages, 'try-deb.sh'));
    const { status, stdout, stderr } = spawnSync(
      'unshare',
      [
        '--mount',
        '--pid',
        '--fork',
        path.join(TOOLS, 'throwaway.sh'),
        artefacts.makeFolder('system'),
        packages,
        '/packages/try-deb.sh',
      ],
      { encoding: 'utf8' },
    );
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout.trim().split('\n')).toEqual([
      `first version: ${manifest.version} install ok installed`,
      'configuration belongs to: root:crdb-exporter 640',
      'secrets belong to: root:crdb-exporter 750',
      'user: /nonexistent:/usr/sbin/nologin',
      expect.stringMatching(/^check without the password: .*secrets\/cluster-password/),
      'check with the password: the configuration is valid: 1 cluster(s)',
      expect.stringMatching(/^scrape: crdb_exporter_build_info\{.*\} 1$/),
      'exit code: 0',
      'upgrade without a working systemctl: crdb-exporter: the service was not restarted, see: journalctl -u crdb-exporter',
      `second version: ${manifest.version}.1 install ok installed`,
      'configuration after the upgrade: # mine',
      'removal without a working systemctl: crdb-exporter: the service was not stopped, see: systemctl status crdb-exporter',
      expect.stringMatching(/^program after the removal: .*No such file/),
      expect.stringMatching(/No such file/),
      'configuration after the removal: # mine',
      'crdb-exporter',
      'configuration after the next installation: # mine',
      expect.stringMatching(/^link of the service: .*\/crdb-exporter\.service$/),
      'files after the purge: /etc/crdb-exporter/secrets/cluster-password',
      expect.stringMatching(/default.*No such file/),
      'link of the service after the purge: none',
    ]);
  });
});
