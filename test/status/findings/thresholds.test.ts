import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { findAlert, severityOf } from '../../../src/alerts/alerts.ts';
import { readSettings } from '../../../src/alerts/rule-settings.ts';
import { writeRules } from '../../../src/alerts/rules-template.ts';
import {
  DEFAULT_THRESHOLDS,
  THRESHOLD_NAMES,
  THRESHOLDS,
  type Thresholds,
} from '../../../src/alerts/thresholds.ts';
import { FIGURES } from '../../../src/status/findings/figures.ts';
import { nodesResult, node } from '../results.ts';
import { check, store } from './found.ts';

const FINDINGS = path.join(import.meta.dirname, '../../../src/status/findings');
/** Limits of what has lasted, which Prometheus alone knows. */
const OF_ALERTS_ALONE: readonly string[] = [
  'latency_growth',
  'hotspot_cpu_only',
  'memory_critical',
  'disk_slow',
  'write_stalls',
  'write_stalls_critical',
];

test('each threshold is read by findings, unless no finding has one of its alerts', () => {
  const files = readdirSync(FINDINGS).map((file) =>
    readFileSync(path.join(FINDINGS, file), 'utf8'),
  );
  const source = files.join('\n');
  const unread = THRESHOLD_NAMES.filter((name) => !new RegExp(`\\b${name}\\b`).test(source));
  const unevaluated = THRESHOLD_NAMES.filter((name) => {
    const alerts = THRESHOLDS[name].help.match(/Crdb\w+/g) ?? [];
    return alerts.every((alert) => !source.includes(`'${alert}'`));
  });
  expect(unread.toSorted()).toEqual([...OF_ALERTS_ALONE, ...unevaluated].toSorted());
});

test.each(Object.values(FIGURES).flat())(
  'the figure of $alert has the limits of this alert, and one of its severities',
  ({ alert, level = severityOf(alert), limit, critical }) => {
    const limits = [limit, critical].filter((name) => typeof name === 'string');
    for (const name of limits) expect(THRESHOLDS[name].help).toContain(alert);
    // Information: the alert also needs a history.
    const severities = Object.keys(findAlert(alert)?.waits ?? {});
    const shown = [level, ...(critical === undefined ? [] : ['critical'])];
    expect([...severities, 'info']).toEqual(expect.arrayContaining(shown));
  },
);

/** A store whose syncs take this many seconds. */
function slower(seconds: number, thresholds: Partial<Thresholds>) {
  const nodes = nodesResult(node(1, store({ 'storage.wal.fsync.latency-p99': seconds * 1e9 })));
  return check({ nodes }, {}, thresholds);
}

describe('a threshold moves the finding and the alert', () => {
  test.each([['disk_latency', 'CrdbStoreDiskSlow', 8, slower, [0.1, 0.2], [8, 9]]] as const)(
    '%s',
    (name, alert, limit, find, [below, above], [belowMoved, aboveMoved]) => {
      const foundAt = (value: number, thresholds: Partial<Thresholds> = {}) =>
        find(value, thresholds).map((problem) => problem.alert);
      expect([foundAt(below), foundAt(above)]).toEqual([[], [alert]]);
      const moved = { [name]: limit };
      expect([foundAt(belowMoved, moved), foundAt(aboveMoved, moved)]).toEqual([[], [alert]]);
      const ruleOf = (settings: readonly string[]) => {
        const text = writeRules(readSettings(settings));
        return text.slice(text.indexOf(`- alert: ${alert}\n`)).split('annotations:', 1)[0];
      };
      expect(ruleOf([])).toContain(` > ${DEFAULT_THRESHOLDS[name]}`);
      expect(ruleOf([`${name}=${limit}`])).toContain(` > ${limit}`);
    },
  );
});
