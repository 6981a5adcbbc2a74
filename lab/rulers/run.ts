// `npm run lab -- rulers [--minutes N] [--interval SECONDS]`: runs the demo, which Prometheus scrapes and writes to two VictoriaMetrics: to
// one everything, to the other what was scraped, for a vmalert with the rules in its dialect. Asks Prometheus and the first storage every
// expression of rules and dashboards at the same times, and prints those whose answers differ, then when each alert fired in Prometheus and
// in vmalert. A second vmalert has the shipped rules and a Prometheus without rules as its datasource: what it does not record is printed,
// too. Exits with 1 when an expression of a rule differs. Start it with another `prometheus` on the PATH to compare that one.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { readSettings } from '../../src/alerts/rule-settings.ts';
import { DIALECTS, writeRules } from '../../src/alerts/rules-template.ts';
import { ALL_VALUES, fillVariables, PANELS } from '../../test/dashboards/panels.ts';
import { nameOf, type RuleGroup } from '../../test/rules/rule-set.ts';
import { freePort } from '../../test/support/http-server.ts';
import { eventually, startPrometheus } from '../../test/support/prometheus.ts';
import { startVictoriaMetrics, startVmalert } from '../../test/support/victoria-metrics.ts';
import { comparisonOf, differenceOf, firingTimes, readAnswer } from './answers.ts';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    interval: { type: 'string', default: '15' },
  },
});
const SECONDS = 60 * Number(options.minutes);
const INTERVAL = Number(options.interval);
/** Samples of Prometheus are in the storages by then. */
const DELAY_SECONDS = 10;
/** Both are asked about every third scrape. */
const ASKED = 3;

interface Expression {
  readonly name: string;
  /** For Prometheus and for VictoriaMetrics. */
  readonly queries: readonly [promql: string, metricsql: string];
  readonly isOfRule: boolean;
}

await using resources = new AsyncDisposableStack();
const exporter = `127.0.0.1:${await freePort()}`;
resources.use(await startDemo(exporter));
const all = resources.use(await startVictoriaMetrics());
const scraped = resources.use(await startVictoriaMetrics());
const folder = resources.use(await mkdtempDisposable(path.join(tmpdir(), 'crdb-exporter-rulers-')));
const [promql, metricsql] = await Promise.all(DIALECTS.map(writeRulesOf));
const scraping = `
global: { scrape_interval: ${INTERVAL}s, scrape_timeout: ${INTERVAL}s, evaluation_interval: ${INTERVAL}s }
scrape_configs: [{ job_name: crdb-exporter, static_configs: [{ targets: ["${exporter}"] }] }]
`;
const datasource = resources.use(
  await startPrometheus(scraping, ['--web.enable-remote-write-receiver']),
);
const prometheus = resources.use(
  await startPrometheus(`${scraping}
rule_files: ["${promql?.file}"]
remote_write:
  - url: ${all.url}/api/v1/write
    queue_config: { batch_send_deadline: 1s }
  - url: ${scraped.url}/api/v1/write
    queue_config: { batch_send_deadline: 1s }
    write_relabel_configs: [{ source_labels: [__name__], regex: "crdb_cluster.*:.*|ALERTS.*", action: drop }]
`),
);
const flags = [
  `-evaluationInterval=${INTERVAL}s`,
  `-rule.evalDelay=${DELAY_SECONDS}s`,
  '-remoteWrite.flushInterval=500ms',
];
resources.use(await startVmalert(scraped.url, metricsql?.file ?? '', flags));
resources.use(await startVmalert(datasource.url, promql?.file ?? '', flags));
const expressions = listExpressions();
const begin = Math.floor(Date.now() / 1000);
const differences = new Map<string, { count: number; example: string }>();
let answers = 0;
let withAnswer = 0;
await sleep(1000 * (SECONDS + DELAY_SECONDS));
for (let at = begin + ASKED * INTERVAL; at < begin + SECONDS; at += ASKED * INTERVAL) {
  for (const expression of expressions) await compare(expression, at);
}
reportExpressions();
await reportRecorded();
await reportAlerts();
console.log(`load ${loadavg()[0]?.toFixed(1)}`);
const wrong = expressions.filter(({ name, isOfRule }) => isOfRule && differences.has(name));
process.exitCode = wrong.length === 0 ? 0 : 1;

async function writeRulesOf(dialect: (typeof DIALECTS)[number]) {
  const text = writeRules(readSettings([]), dialect);
  const file = path.join(folder.path, `${dialect}.yml`);
  await writeFile(file, text);
  const { groups }: { readonly groups: readonly RuleGroup[] } = parse(text, { version: '1.1' });
  return { file, rules: groups.flatMap(({ rules }) => rules) };
}

async function startDemo(address: string): Promise<AsyncDisposable> {
  const listen = await Promise.all(
    ['--listen', '--cloud-listen'].map(async (flag) => `${flag}=127.0.0.1:${await freePort()}`),
  );
  const program = path.join(import.meta.dirname, '../../bin/crdb-exporter.cjs');
  const child: ChildProcess = spawn(
    process.execPath,
    [program, 'demo', `--web.listen-address=${address}`, ...listen],
    { stdio: 'ignore' },
  );
  const ended = once(child, 'exit');
  await eventually(async () => {
    try {
      return (await fetch(`http://${address}/-/ready`)).ok || undefined;
    } catch {
      return undefined;
    }
  });
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Of rules in both dialects, of dashboards as they are. */
function listExpressions(): readonly Expression[] {
  const rules = (promql?.rules ?? []).map((rule, index): Expression => {
    const labels = Object.values(rule.labels ?? {}).join(' ');
    return {
      name: `${nameOf(rule)} ${labels}`.trim(),
      queries: [rule.expr, metricsql?.rules[index]?.expr ?? ''],
      isOfRule: true,
    };
  });
  const values = {
    ...ALL_VALUES,
    cluster: 'demo',
    __rate_interval: `${4 * INTERVAL}s`,
    __range: '300s',
    __interval: `${INTERVAL}s`,
  };
  const panels = PANELS.flatMap(({ title, queries }) =>
    queries.map(({ refId, expr }): Expression => {
      const query = fillVariables(expr, values);
      return { name: `${title} ${refId}`, queries: [query, query], isOfRule: false };
    }),
  );
  return [...rules, ...panels];
}

async function compare({ name, queries }: Expression, at: number): Promise<void> {
  const [first, second] = await Promise.all([
    readAnswer(prometheus.url, queries[0], at),
    readAnswer(all.url, queries[1], at),
  ]);
  answers += 1;
  if (first.size > 0) withAnswer += 1;
  const example = differenceOf(first, second, comparisonOf(queries[0]));
  if (example === undefined) return;
  const { count = 0 } = differences.get(name) ?? {};
  differences.set(name, { count: count + 1, example: `${at - begin} s: ${example}` });
}

function reportExpressions(): void {
  const rules = expressions.filter(({ isOfRule }) => isOfRule).length;
  console.log(
    `${rules} expressions of rules, ${expressions.length - rules} of dashboards, ${answers} comparisons, ${withAnswer} with series; ${differences.size} expressions differ`,
  );
  for (const { name, isOfRule } of expressions) {
    const found = differences.get(name);
    if (found === undefined) continue;
    console.log(
      `  ${isOfRule ? 'rule' : 'panel'} ${name}: ${found.count} times, last ${found.example}`,
    );
  }
}

/** Names of recorded series that Prometheus has and vmalert has not written to its own one. */
async function reportRecorded(): Promise<void> {
  const query = `group by (__name__) (last_over_time({__name__=~".+:.+"}[${SECONDS}s]))`;
  const [expected, found] = await Promise.all(
    [prometheus, datasource].map(async (server) => {
      const series = await server.query(query);
      return new Set(series.map(({ labels }) => labels['__name__'] ?? ''));
    }),
  );
  const missing = [...(expected ?? [])].filter((name) => found?.has(name) !== true);
  console.log(
    `\nRecorded series by vmalert in a Prometheus: ${found?.size ?? 0} of ${expected?.size ?? 0} names${missing.length === 0 ? '' : `, not ${missing.join(', ')}`}`,
  );
}

async function reportAlerts(): Promise<void> {
  const end = begin + SECONDS;
  const [first, second, third] = await Promise.all(
    [prometheus, scraped, datasource].map(({ url }) =>
      firingTimes(url, { begin, end, step: INTERVAL }),
    ),
  );
  const names = new Set([first, second, third].flatMap((times) => [...(times?.keys() ?? [])]));
  console.log(
    '\nSeconds of the demo in which each alert fired: Prometheus | vmalert in VictoriaMetrics | vmalert in Prometheus',
  );
  for (const name of [...names].toSorted()) {
    const times = [first, second, third].map((one) => one?.get(name) ?? 'never');
    console.log(`  ${name}: ${times.join(' | ')}`);
  }
}
