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

describe('the examples for other collectors', () => {
  test.each(readdirSync(FOLDER))('%s is short and scrapes a job that the rules know', (name) => {
    const text = read(name);
    const lines = text.split('\n').filter((line) => !/^(#|\/\/|$)/.test(line));
    expect(lines.length).toBeLessThanOrEqual(8);
    expect(text).toMatch(/job_name *[:=] "?crdb-exporter\b/);
    expect(text).toContain('crdb-exporter:10137');
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

describe.skipIf(!hasProgram('promtool'))('the example for the OpenTelemetry Collector', () => {
  test('has a scrape configuration that promtool accepts', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-agents-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const {
      receivers,
    }: { readonly receivers: { readonly prometheus: { readonly config: object } } } = parse(
      read('opentelemetry-collector.yml'),
    );
    const file = path.join(folder, 'prometheus.yml');
    writeFileSync(file, JSON.stringify(receivers.prometheus.config));
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
