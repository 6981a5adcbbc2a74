// `npm run lab -- rules [--factor N] [CLUSTER …]`: plays ten worlds, or those of the named clusters, in real time, with
// Prometheus, its rules, Alertmanager and its example as they are shipped, but for the addresses, and all times divided by one
// factor. Prints, in minutes of the worlds, when each notification came and was resolved, and what else fired. Exits with 1 when a
// world notifies of something else, too late, twice or, as a page, without end. On a machine that is busy, choose a small factor.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  type AlertNotification,
  startAlertmanager,
  startReceiver,
} from '../../test/e2e/alerts/alertmanager.ts';
import {
  scaledAlertmanager,
  scaledFlags,
  scaledPrometheus,
  scaledRules,
} from '../../test/e2e/alerts/scaling.ts';
import { scrapeCalm } from '../../test/rules/exposed/exposition.ts';
import { type Prometheus, startPrometheus } from '../../test/support/prometheus.ts';
import { minuteOf, serveWorlds, jobOf, type WorldClock } from './pages.ts';
import { type LiveWorld, liveWorlds, MINUTES } from './worlds.ts';

const { values: options, positionals: chosen } = parseArgs({
  allowPositionals: true,
  options: { factor: { type: 'string', default: '10' } },
});
const FACTOR = Number(options.factor);
const MINUTE_MS = 60_000 / FACTOR;
/** Until all programs have started. */
const LEAD_SECONDS = 10;

const worlds = liveWorlds(await scrapeCalm()).filter(
  ({ clusters }) => chosen.length === 0 || clusters.some(({ cluster }) => chosen.includes(cluster)),
);
const clock: WorldClock = { startedAt: Date.now() / 1000 + LEAD_SECONDS, factor: FACTOR };
await using resources = new AsyncDisposableStack();
const pages = resources.use(await serveWorlds(worlds, clock));
const receiver = resources.use(await startReceiver());
const alertmanager = resources.use(
  await startAlertmanager(scaledAlertmanager(FACTOR, receiver.url)),
);
const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-live-'));
resources.defer(() => rm(folder, { recursive: true }));
const rules = path.join(folder, 'rules.yml');
await writeFile(rules, scaledRules(FACTOR));
const shared = await watch(
  worlds.filter(({ restart }) => restart === undefined),
  [],
);
const watching = new Map<LiveWorld, Prometheus>();
for (const world of worlds) {
  const own = world.restart;
  watching.set(world, own === undefined ? shared : await watch([world], own.flags));
}
await Promise.all(worlds.map(restartInTime));
await sleepUntil(MINUTES);
const wrong: string[] = [];
for (const world of worlds) await report(world);
console.log(
  `${worlds.length} worlds, ${MINUTES} minutes each, all times divided by ${FACTOR}; load ${loadavg()[0]?.toFixed(1)}, evaluations missed: ${await missed(shared)}`,
);
for (const one of wrong) console.log(`wrong: ${one}`);
process.exitCode = wrong.length === 0 ? 0 : 1;

async function watch(some: readonly LiveWorld[], flags: readonly string[]): Promise<Prometheus> {
  const config = scaledPrometheus(FACTOR, {
    rules,
    alertmanager: alertmanager.host,
    jobs: some.map((world) => ({
      name: jobOf(world),
      targets: `${pages.url}/targets/${jobOf(world)}`,
    })),
  });
  return resources.use(await startPrometheus(config, scaledFlags(FACTOR, flags)));
}

async function restartInTime(world: LiveWorld): Promise<void> {
  if (world.restart === undefined) return;
  await sleepUntil(world.restart.at);
  await watching.get(world)?.restart();
}

async function sleepUntil(minute: number): Promise<void> {
  await sleep((minute - minuteOf(clock, Date.now())) * MINUTE_MS);
}

async function report(world: LiveWorld): Promise<void> {
  const own = receiver.notifications.filter(({ labels }) => isOf(world, labels));
  // What is inhibited to its end may be among the resolved ones.
  const names = [...new Set(own.filter(({ status }) => status === 'firing').map(titleOf))];
  const fired = (await firedIn(world)).filter((one) => !names.includes(one));
  const lines = names.map((name) => describe(world, name, own));
  console.log(`\n${world.world} (${world.begins} to ${world.ends})`);
  for (const line of lines.length > 0 ? lines : ['nothing']) console.log(`  ${line}`);
  if (fired.length > 0) console.log(`  fired, but nobody was told: ${fired.join(', ')}`);
  const missing = Object.keys(world.notifies).filter((name) => !names.includes(name));
  for (const name of missing) wrong.push(`${world.world}: no ${name}`);
}

/** When the notifications of an alert came and were resolved. */
function describe(world: LiveWorld, name: string, own: readonly AlertNotification[]): string {
  const all = own.filter((one) => titleOf(one) === name);
  const changes = all
    .slice(all.findIndex(({ status }) => status === 'firing'))
    .filter(({ status }, index, some) => status !== some[index - 1]?.status);
  const [first, ...later] = changes;
  const after = first === undefined ? 0 : minuteOf(clock, first.atMs) - world.begins;
  const limit = world.notifies[name];
  if (limit === undefined) wrong.push(`${world.world}: ${name}`);
  else if (after > limit) wrong.push(`${world.world}: ${name} after ${after.toFixed(1)} minutes`);
  // Of a warning that ends while its critical variant inhibits it, Alertmanager may tell no end.
  if (first?.receiver === 'page' && changes.at(-1)?.status === 'firing') {
    wrong.push(`${world.world}: ${name} without end`);
  }
  // Without the flag that docs/prometheus.md advises, an alert begins again with Prometheus.
  if (changes.length > 2 && world.restart?.flags.length !== 0) {
    wrong.push(`${world.world}: ${name} came again`);
  }
  const ends = later.map(({ status, atMs }) => {
    const minute = minuteOf(clock, atMs);
    return `${status} ${(minute - world.ends).toFixed(1)} min after the end`;
  });
  return `${name} to ${first?.receiver}: ${after.toFixed(1)} min after the beginning; ${ends.join(', ')}`;
}

async function firedIn(world: LiveWorld): Promise<readonly string[]> {
  const all = await watching
    .get(world)
    ?.query('max_over_time(ALERTS{alertstate="firing",alertname!="CrdbWatchdog"}[1h])');
  const own = (all ?? []).filter(({ labels }) => isOf(world, labels));
  return [...new Set(own.map(titleOf))];
}

function isOf(world: LiveWorld, { crdb_cluster: cluster, job }: Labels): boolean {
  const isOwn = world.clusters.some((exposed) => exposed.cluster === cluster);
  return isOwn || job === jobOf(world);
}

type Labels = Readonly<Record<string, string>>;

function titleOf({ labels }: { readonly labels: Labels }): string {
  return `${labels['alertname']} ${labels['severity']}`;
}

/** Evaluations that Prometheus left out because the one before had not ended. */
async function missed(prometheus: Prometheus): Promise<number> {
  const text = await (await fetch(`${prometheus.url}/metrics`)).text();
  const counts = text.matchAll(/^prometheus_rule_group_iterations_missed_total\{.*\} (\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
