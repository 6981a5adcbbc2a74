import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { readBuild } from '../../src/base/build.ts';
import { createLog } from '../../src/base/log.ts';
import { readCommandForm } from '../../src/cli/process/command-form.ts';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { loadConfig } from '../../src/config/load.ts';
import { Exporter } from '../../src/exporter/exporter.ts';
import type { Status } from '../../src/status/findings/status.ts';
import { createStatus } from '../../src/status/status-routes.ts';
import { PROCESS_TIMEOUT_MS, type Running, runHere, start, startProgram } from '../cli/run.ts';
import { makeFolder } from '../config/folder.ts';
import { clusterYaml } from '../support/exporter.ts';
import { eventually } from '../support/prometheus.ts';
import { addressOf } from './process-support.ts';

const OPTIONS = { nodes: 4, ranges: 60, sessions: 20, faultyNodes: true, frozen: true } as const;
const LISTEN = '--web.listen-address=127.0.0.1:0';
const PASSWORD = 'CRDB_EXPORTER_CLUSTER_PASSWORD';

/** Programs that enter a container, which here is this machine: they run what follows the name of the container. */
const ENTERING = {
  kubectl: '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n',
  docker: '#!/bin/sh\nshift 2\nexec "$@"\n',
  podman: '#!/bin/sh\nshift 2\nexec "$@"\n',
};

function unescape(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}

/** The commands of this program that page and JSON offer, once each by their first words, as soon as these are among them. */
async function readOffered(url: string, ...wanted: readonly string[]) {
  return eventually(async () => {
    if ((await fetch(`${url}/-/ready`)).status !== 200) return undefined;
    const json = await (await fetch(`${url}/api/status`)).text();
    const status: Status = JSON.parse(json);
    const pages = await Promise.all(
      status.clusters.map(async ({ name }) => (await fetch(`${url}/?cluster=${name}`)).text()),
    );
    const ofPages = pages.flatMap((page) =>
      Array.from(page.matchAll(/<code>([^<]*)<\/code>/g), ([, code = '']) => unescape(code)),
    );
    const texts = status.clusters.flatMap(({ findings, collectors }) => [
      ...findings.map(({ next }) => next),
      ...collectors.flatMap(({ error }) => error?.advice ?? []),
    ]);
    const ofTexts = texts.flatMap((text) =>
      Array.from(text.matchAll(/`([^`]+)`/g), ([, code = '']) => code),
    );
    const { program, options, variables } = status.commands;
    const all = [...ofPages, ...ofTexts].filter((code) => code.includes('crdb-exporter'));
    const wordsOf = (command: string): string =>
      command.slice(program.length + 1).replaceAll(options, '');
    // What is offered for every range or node is run once for each cluster.
    const kinds = Map.groupBy(all, (command) => wordsOf(command).replaceAll(/ \d+/g, ''));
    const commands = [...kinds.values()].flatMap(([first = '']) => first);
    const isThere = ['range', ...wanted].every((word) =>
      commands.some((command) => wordsOf(command).split(' ')[0] === word),
    );
    return isThere
      ? { commands, all, program, options, variables, page: pages.join('') }
      : undefined;
  });
}

/** Pastes a command into a shell in another folder. */
async function paste(command: string, env: Readonly<Record<string, string>> = {}) {
  const folder = await makeFolder(ENTERING);
  await Promise.all(Object.keys(ENTERING).map((name) => chmod(path.join(folder, name), 0o700)));
  const line = `cd / && PATH="${folder}:$PATH" && ${command}`;
  const running = startProgram('sh', ['-c', line], env);
  running.child.stdin.end();
  return running.ended;
}

function isProgram(word: string): boolean {
  return /^crdb-exporter(?:\.cjs)?$/.test(path.basename(word));
}

/** The arguments of a command as a shell splits it, without what enters a container. */
async function argumentsOf(command: string): Promise<readonly string[]> {
  const running = startProgram('sh', ['-c', `printf '%s\\0' ${command}`]);
  running.child.stdin.end();
  const words = (await running.ended).out.split('\0').slice(0, -1);
  return words.slice(words.findIndex(isProgram) + 1);
}

/** Pastes the first of the commands, and runs the others in this process, which is much quicker. */
async function expectToWork(commands: readonly string[], env?: Readonly<Record<string, string>>) {
  for (const [at, offered] of commands.entries()) {
    // It reads twice, with this time between.
    const command = offered.replace('--still-after 10m', '--still-after 1s');
    const ended = at === 0 ? paste(command, env) : runHere(await argumentsOf(command), env);
    const { code, err } = await ended;
    // 1: the command found a problem.
    expect([0, 1], `${command}\n${err}`).toContain(code);
    expect(err).not.toMatch(/is configured|not found|No such file|unknown option/);
  }
}

interface Served extends AsyncDisposable {
  readonly url: string;
}

/** The exporter in this process, with the commands of one that was started with these flags and variables. */
async function serveHere(
  flags: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const listening = { 'web.listen-address': ['127.0.0.1:0'] };
  const sources = { flags: { ...flags, ...listening }, env, collectors: COLLECTORS };
  const { config } = await loadConfig(sources);
  const destination = { write: () => true };
  const log = createLog({ level: 'error', format: 'logfmt', destination });
  const commandForm = readCommandForm({ ...sources, flags }, config);
  const exporter = await Exporter.start({
    config,
    collectors: COLLECTORS,
    build: readBuild(),
    log,
    companion: (daemon) => createStatus(daemon, log, commandForm),
  });
  const [url = ''] = exporter.addresses;
  return { url, [Symbol.asyncDispose]: () => exporter.stop() };
}

describe('the commands that the status page offers', { timeout: PROCESS_TIMEOUT_MS }, () => {
  test('work with the file that the exporter was started with, wherever they are pasted', async () => {
    await using simulator = await startSimulator({ ...OPTIONS, nodes: 6 });
    simulator.world.beginDecommission(3);
    simulator.world.partitionPair(2, 3);
    simulator.fault({ kind: 'status', status: 403, endpoint: 'sessions' });
    const yaml = `clusters:\n${clusterYaml(simulator)}`;
    const folder = await makeFolder({ "it's here/exporter.yml": yaml });
    const file = path.relative(process.cwd(), path.join(folder, "it's here/exporter.yml"));
    await using running = start([`--config.file=${file}`, LISTEN]);
    const { commands, all, program, page } = await readOffered(
      await addressOf(running),
      'ranges',
      'network',
      'diagnose',
    );
    for (const command of all) expect(command.startsWith(`${program} `)).toBe(true);
    expect(page).not.toContain(simulator.password);
    await expectToWork(commands);
  });

  test('name the cluster where there are several, and work with a file that a variable names', async () => {
    await using simulator = await startSimulator(OPTIONS);
    const clusters = ['east', 'west'].map((name) => clusterYaml(simulator, { name }));
    const folder = await makeFolder({ 'exporter.yml': `clusters:\n${clusters.join('')}` });
    const file = path.join(folder, 'exporter.yml');
    await using served = await serveHere({}, { CRDB_EXPORTER_CONFIG_FILE: file });
    const { commands } = await readOffered(served.url);
    for (const command of commands) expect(command).toMatch(/ --cluster (?:east|west)\b/);
    await expectToWork(commands);
  });

  test('work with flags and a secret in a file', async () => {
    await using simulator = await startSimulator(OPTIONS);
    const folder = await makeFolder({ password: simulator.password });
    await using served = await serveHere({
      'cluster.name': 'shop',
      'cluster.url': simulator.clusterUrl,
      'cluster.username': simulator.username,
      'cluster.password-file': path.join(folder, 'password'),
    });
    const { commands, variables, page } = await readOffered(served.url);
    expect(variables).toEqual([]);
    expect(page).not.toContain(simulator.password);
    await expectToWork(commands.slice(0, 2));
  });

  test('repeat variables as flags, but the one with the secret, which the page names', async () => {
    await using simulator = await startSimulator(OPTIONS);
    const env = { [PASSWORD]: simulator.password };
    const variables = {
      ...env,
      CRDB_EXPORTER_CLUSTER_URL: simulator.clusterUrl,
      CRDB_EXPORTER_CLUSTER_USERNAME: simulator.username,
    };
    await using served = await serveHere({}, variables);
    const offered = await readOffered(served.url);
    // In a container the command has the variables of the exporter.
    if (offered.program.includes(' exec ')) return;
    expect(offered.variables).toEqual([PASSWORD]);
    expect(offered.page).toContain(PASSWORD);
    expect(offered.page).not.toContain(simulator.password);
    await expectToWork(offered.commands.slice(0, 2), env);
  });

  test('enter the pod in Kubernetes, which has the variables already', async () => {
    await using simulator = await startSimulator(OPTIONS);
    const env = {
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
      CRDB_EXPORTER_CLUSTER_URL: simulator.clusterUrl,
      CRDB_EXPORTER_CLUSTER_USERNAME: simulator.username,
      [PASSWORD]: simulator.password,
    };
    await using served = await serveHere({}, env);
    const { commands, program, options, variables } = await readOffered(served.url);
    expect(program).toMatch(/^kubectl exec (?:--namespace \S+ )?\S+ -- \S*crdb-exporter\S*$/);
    expect([options, variables]).toEqual(['', []]);
    await expectToWork(commands.slice(0, 2), env);
  });

  test('name the pod by its variables, since in the network of its host it has the name of the host', async () => {
    await using simulator = await startSimulator(OPTIONS);
    const env = {
      CRDB_EXPORTER_CLUSTER_URL: simulator.clusterUrl,
      CRDB_EXPORTER_CLUSTER_USERNAME: simulator.username,
      [PASSWORD]: simulator.password,
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
      POD_NAME: 'crdb-exporter-0',
      POD_NAMESPACE: 'monitoring',
    };
    await using served = await serveHere({}, env);
    const { program } = await readOffered(served.url);
    expect(program).toMatch(
      /^kubectl exec --namespace monitoring crdb-exporter-0 -- \S*crdb-exporter\S*$/,
    );
  });

  test('work in the demo', async () => {
    await using running: Running = start([
      'demo',
      '--web.listen-address=127.0.0.1:0',
      '--listen=:0',
      '--cloud-listen=:0',
    ]);
    await running.until('Press Ctrl-C');
    const [, url = ''] = /Exporter +(\S+)\//.exec(running.seen().out) ?? [];
    const { commands, options } = await readOffered(url);
    expect(options).toMatch(/^ --config\.file=\S+demo\.yml$/);
    await expectToWork(commands.slice(0, 2));
  });
});
