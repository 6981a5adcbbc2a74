import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { hasProgram } from '../support/programs.ts';
import { ROOT } from './installed.ts';

const FOLDER = path.join(ROOT, 'config', 'agents');

function read(name: string): string {
  return readFileSync(path.join(FOLDER, name), 'utf8');
}

/** Whether a program accepts the example, and the example with a mistyped key. */
function judge(name: string, program: string, argsFor: (file: string) => readonly string[]) {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-agents-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const mistyped = path.join(folder, name);
  writeFileSync(mistyped, read(name).replace('targets', 'targts'));
  return [path.join(FOLDER, name), mistyped].map(
    (file) => spawnSync(program, argsFor(file), { encoding: 'utf8' }).status === 0,
  );
}

describe('the lists of families for few series', () => {
  const page = readFileSync(path.join(ROOT, 'docs', 'agents.md'), 'utf8');
  const golden = readFileSync(path.join(ROOT, 'test', 'golden', 'metrics.txt'), 'utf8');
  const lists = Array.from(page.matchAll(/```yaml\n([^`]*)```/g), ([, text = '']) => {
    const { params }: { readonly params: { readonly 'name[]': readonly string[] } } = parse(text);
    return params['name[]'];
  });

  test('name families that exist, each once', () => {
    const families = new Set(Array.from(golden.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name));
    const named = lists.flat();
    expect(named.filter((name) => !families.has(name))).toEqual([]);
    expect(named.length).toBe(new Set(named).size);
  });

  // Of the demo's nine nodes; the golden file has five.
  test.each([
    [300, 1],
    [1000, 2],
  ])('have no more than %i series', (most, taken) => {
    const named = new Set(lists.slice(0, taken).flat());
    const lines = golden.split('\n').filter((line) => named.has(line.replace(/[{ ].*/, '')));
    expect(lines.length).toBeGreaterThan(most / 5);
    expect(lines.length).toBeLessThan((most * 6) / 9);
  });
});

interface Collector {
  readonly receivers: {
    readonly prometheus: {
      readonly config: {
        readonly global: { readonly scrape_protocols?: readonly string[] };
        readonly scrape_configs: readonly object[];
      };
    };
  };
}

describe('the examples for other collectors', () => {
  test.each(readdirSync(FOLDER))('%s is short and scrapes a job that the rules know', (name) => {
    const text = read(name);
    const lines = text.split('\n').filter((line) => !/^(#|\/\/|$)/.test(line));
    expect(lines.length).toBeLessThanOrEqual(10);
    // Datadog, Netdata and Fluent Bit have no label `job`, and no rules of Prometheus read what they send.
    const hasJob = /\bjob(?:_name)? *[:=] *'?"?crdb-exporter\b/.test(text);
    expect(hasJob || /^(?:datadog|netdata|fluent-bit)\./.test(name)).toBe(true);
    expect(text).toMatch(/\b30\b|"30s"|\b30s\b/);
    expect(text).toMatch(/crdb-exporter:10137|host: crdb-exporter\n +port: 10137/);
  });

  test.each(readdirSync(FOLDER).filter((name) => name.endsWith('.yml')))(
    '%s is strict YAML',
    (name) => {
      const { errors, warnings } = parseDocument(read(name), { strict: true });
      expect([errors, warnings]).toEqual([[], []]);
    },
  );

  test('alloy.alloy has one block of attributes', () => {
    const [, ...lines] = read('alloy.alloy').trimEnd().split('\n');
    const component = '(?:[a-z_]+\\.)+[a-z_]+';
    expect(lines[0]).toMatch(/^prometheus\.scrape "[a-z_]+" \{$/);
    expect(lines.at(-1)).toBe('}');
    const text = '"[^"\\\\]*"';
    const value = `(?:${text}|\\[\\{ \\w+ = ${text} \\}\\]|\\[${component}\\])`;
    for (const line of lines.slice(1, -1))
      expect(line).toMatch(new RegExp(`^ {2}[a-z_]+ += ${value}$`));
  });
});

describe('the example for the OpenTelemetry Collector', () => {
  const { receivers }: Collector = parse(read('opentelemetry-collector.yml'));
  const { global, ...scrapes } = receivers.prometheus.config;

  // In OpenMetrics its receiver takes `_bucket` from the names of gauge histograms; `npm run lab -- agents` runs the real one.
  test('asks for the text format, in which every family keeps the name of rules and dashboards', () => {
    expect(global.scrape_protocols).toEqual(['PrometheusText0.0.4']);
  });

  test.skipIf(!hasProgram('promtool'))('has a scrape configuration that promtool accepts', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-agents-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'prometheus.yml');
    // Prometheus knows `scrape_protocols` since 2.49, and Debian 12 has 2.42.
    const { scrape_protocols: _, ...known } = global;
    writeFileSync(file, JSON.stringify({ ...scrapes, global: known }));
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'config', file], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('SUCCESS');
  });
});

describe.skipIf(!hasProgram('promtool'))('the example for Prometheus Agent', () => {
  test('is accepted by promtool', () => {
    const verdict = judge('prometheus-agent.yml', 'promtool', (file) => [
      'check',
      'config',
      '--agent',
      file,
    ]);
    expect(verdict).toEqual([true, false]);
  });
});

describe.skipIf(!hasProgram('vmagent'))('the example for VictoriaMetrics (needs vmagent)', () => {
  test('is accepted by vmagent', () => {
    const verdict = judge('vmagent.yml', 'vmagent', (file) => [
      `-promscrape.config=${file}`,
      '-promscrape.config.dryRun',
      '-promscrape.config.strictParse',
    ]);
    expect(verdict).toEqual([true, false]);
  });
});

describe.skipIf(!hasProgram('otelcol-contrib'))(
  'the example for the OpenTelemetry Collector (needs otelcol-contrib)',
  () => {
    test('is accepted by it', () => {
      const verdict = judge('opentelemetry-collector.yml', 'otelcol-contrib', (file) => [
        'validate',
        `--config=file:${file}`,
      ]);
      expect(verdict).toEqual([true, false]);
    });
  },
);

describe.skipIf(!hasProgram('alloy'))('the example for Grafana Alloy (needs alloy)', () => {
  test('is parsed by it', () => {
    const file = path.join(FOLDER, 'alloy.alloy');
    const { status, stderr } = spawnSync('alloy', ['fmt', file], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});
