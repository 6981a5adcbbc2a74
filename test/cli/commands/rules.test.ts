import { existsSync } from 'node:fs';
import { lstat, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { SETTINGS } from '../../../src/alerts/rule-settings.ts';
import { NUMBERS, otherValue } from '../../rules/other-values.ts';
import { run } from '../../rules/promtool.ts';
import type { RuleGroup } from '../../rules/rule-set.ts';
import { expectGolden } from '../../support/golden.ts';
import { PROGRAM } from '../../support/program.ts';
import { hasProgram } from '../../support/programs.ts';
import { runHere, startProgram, writeTemporary } from '../run.ts';

/** A text in which white space does not count. */
function expressions(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

async function rulesWith(...pairs: readonly string[]): Promise<RuleGroup['rules']> {
  const { code, out } = await runHere(['rules', ...pairs.flatMap((pair) => ['--set', pair])]);
  expect(code).toBe(0);
  const { groups }: { readonly groups: readonly RuleGroup[] } = parse(out);
  return groups.flatMap(({ rules }) => rules);
}

/** How long an alert waits, and what servers do, whatever the settings are. */
const NO_LIMIT =
  /\b[Ff]or \d+[mhd]\b|leases move away from 20 on|from 1 on|\(4 hours by default\)/g;

/** A limit as a number, in percent, or as a duration. */
function formsOf(value: string): RegExp {
  const number = Number(value);
  const words = [
    value,
    `${number * 100} percent`,
    `${number / 60} ?m(?:in|\\b)`,
    `${number / 3600} ?h(?:our|\\b)`,
    ...(number === 3600 ? ['an hour'] : []),
  ];
  return numberPattern(...words);
}

/** Finds one of these that is no part of another number. */
function numberPattern(...words: readonly string[]): RegExp {
  return new RegExp(String.raw`(?<![\w.])(?:${words.join('|')})(?![\d]|\.\d)`);
}

describe('the command rules', () => {
  test('prints the shipped file', async () => {
    const { out } = await runHere(['rules']);
    await expectGolden(out, 'config/prometheus/rules.yml', 'npm run rules');
  });

  test('writes for VictoriaMetrics what counts as in Prometheus, also in texts', async () => {
    const { out } = await runHere(['rules', '--dialect', 'metricsql']);
    const { out: shipped } = await runHere(['rules', '--dialect', 'promql']);
    expect(out).not.toMatch(/\b(?:changes|increase|delta)\(/);
    expect(out).toContain('printf "min(delta_prometheus(crdb_node_down_replicas');
    expect(expressions(out.replaceAll('_prometheus(', '('))).toBe(expressions(shipped));
    const { code, err } = await runHere(['rules', '--dialect', 'logql']);
    expect([code, err]).toEqual([2, expect.stringContaining('promql, metricsql')]);
  });

  test('changes thresholds, also in texts', async () => {
    const rules = await rulesWith('cpu=0.75', 'job=crdb|"db"');
    const cpu = rules.find(({ alert }) => alert === 'CrdbNodeCpuHigh');
    expect(cpu?.expr).toContain('> 0.75');
    expect(cpu?.annotations?.['description']).toContain('{{ 0.75 | humanizePercentage }}');
    const down = rules.find(({ alert }) => alert === 'CrdbExporterDown');
    expect(down?.expr).toBe(String.raw`up{job=~"crdb|\"db\""} == 0`);
  });

  describe('with other limits', () => {
    let changed: RuleGroup['rules'];
    beforeAll(async () => {
      changed = await rulesWith(...NUMBERS.map((name) => `${name}=${otherValue(name)}`));
    });

    test.each(NUMBERS)('leaves no text with the old one: %s', (name) => {
      const [, value = ''] = SETTINGS[name] ?? [];
      const isNew = numberPattern(`${otherValue(name)}`);
      const texts = changed
        .filter(({ expr }) => isNew.test(expr))
        .map(({ annotations = {} }) => `${annotations['summary']} ${annotations['description']}`)
        // Of queries in a text only plain numbers are limits.
        .map((text) => text.replaceAll(/\{\{(?! [\d.]+ \|).*?\}\}/g, ''))
        .map((text) => text.replace(NO_LIMIT, ''));
      expect(texts.filter((text) => formsOf(value).test(text))).toEqual([]);
    });
  });

  test.runIf(hasProgram('promtool'))('writes a file that promtool accepts', async () => {
    const file = await writeTemporary('rules.yml', '');
    const set = [
      'excluded_applications=a\\.b|"c"',
      'batch_applications=(?i)etl',
      'disk_floor=1500000.5',
    ];
    const { code, out } = await runHere([
      'rules',
      ...set.flatMap((pair) => ['--set', pair]),
      '--output',
      file,
    ]);
    expect([code, out]).toEqual([0, '']);
    expect(await readFile(file, 'utf8')).toContain(String.raw`application!~"a\\.b|\"c\""`);
    expect(await run('promtool', ['check', 'rules', file])).toMatchObject({ passed: true });
  });

  test('says why it cannot write the file', async () => {
    const file = path.join(await writeTemporary('plain', ''), 'rules.yml');
    const { code, err } = await runHere(['rules', '--output', file]);
    const message = `cannot write ${file}: there is no such folder; correct that, or choose another place with --output`;
    expect({ code, err }).toEqual({ code: 1, err: `crdb-exporter: ${message}\n` });
  });

  test.each(['rules.yml', 'link.yml'])('leaves no half of a file: %s', async (name) => {
    const file = await writeTemporary('rules.yml', 'old');
    const link = path.join(path.dirname(file), 'link.yml');
    await symlink(file, link);
    const output = path.join(path.dirname(file), name);
    // Blocks of 1 KiB or of half of that, by shell: less than the rules in either case.
    const limited = `trap '' XFSZ; ulimit -f 64; exec "$0" "$1" rules --output "$2"`;
    await using running = startProgram('bash', ['-c', limited, process.execPath, PROGRAM, output]);
    const { code, err } = await running.ended;
    expect(code).toBe(1);
    expect(err).toContain(`crdb-exporter: cannot write ${output}: `);
    expect(err).toContain('choose another place with --output\n');
    expect(existsSync(file)).toBe(false);
    // As `/dev/stdout` is a link, too.
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
  });

  describe('with a configuration', () => {
    // No secret, certificate or web config file of it is needed.
    const YAML = `web: { config_file: nowhere.yml }
thresholds: { disk: 0.25, disk_floor: 1500000.5 }
links: { runbook_url: "https://wiki.corp.internal/crdb/", dashboard_url: "https://g" }
clusters: [{ name: a, cluster_api: { urls: ["https://a:8080"], username: u, password_file: none } }]
`;

    test('takes limits and links from it', async () => {
      const file = await writeTemporary('exporter.yml', YAML);
      const configured = await runHere(['rules', `--config.file=${file}`]);
      const set = ['disk=0.25', 'disk_floor=1500000.5', 'dashboard_url=https://g'];
      const pairs = [...set, 'runbook_url=https://wiki.corp.internal/crdb'];
      const given = await runHere(['rules', ...pairs.flatMap((pair) => ['--set', pair])]);
      expect(configured).toEqual({ ...given, code: 0, err: '' });
      const both = await runHere([
        'rules',
        `--config.file=${file}`,
        ...['disk=0.250', 'runbook_url=https://wiki.corp.internal/crdb/', 'cpu=0.8'].flatMap(
          (pair) => ['--set', pair],
        ),
      ]);
      expect(both).toEqual(given);
    });

    test.each([
      ['disk=0.2', 'thresholds.disk is 0.25'],
      ['cpu=0.7', 'thresholds.cpu is 0.8'],
      ['runbook_url=https://other', 'links.runbook_url is https://wiki.corp.internal/crdb'],
      ['dashboard_url=', 'links.dashboard_url is https://g'],
    ])('refuses --set %s, which the status page would not know', async (pair, there) => {
      const file = await writeTemporary('exporter.yml', YAML);
      const { code, out, err } = await runHere(['rules', `--config.file=${file}`, '--set', pair]);
      const message = `--set ${pair}: ${there} with ${file}, for the status page, too: change it there`;
      expect({ code, out, err }).toEqual({ code: 2, out: '', err: `crdb-exporter: ${message}\n` });
    });

    test('names what is wrong in it', async () => {
      const file = await writeTemporary('exporter.yml', YAML.replace('0.25', '25'));
      const { code, err } = await runHere(['rules', `--config.file=${file}`]);
      expect(code).toBe(2);
      expect(err).toContain(`${file}:2:21: thresholds.disk: 25 is not a share`);
    });
  });
});
