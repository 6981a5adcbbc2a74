import { describe, expect, test } from 'vitest';
import { readSettings, SettingError, type Settings } from '../../src/alerts/rule-settings.ts';

function read(...pairs: readonly string[]): Settings {
  return readSettings(pairs);
}

const DEFAULTS = read().values;

describe('a value is taken', () => {
  test.each([
    ['cpu_critical=1', { cpu_critical: '1' }],
    ['cpu=0.0010', { cpu: '0.001' }],
    ['restarts=1e3', { restarts: '1000' }],
    ['latency=12.25', { latency: '12.25' }],
    ['job=a"b\\.c=d', { job: String.raw`"a\"b\\.c=d"` }],
    ['job=(?i)x', { job: '"(?i)x"' }],
    ['excluded_applications=', { excluded_applications: '' }],
    ['excluded_applications=a"b', { excluded_applications: String.raw`,application!~"a\"b"` }],
    ['dashboard_url=https://g/', { dashboard_url: 'https://g' }],
    ['dashboard_url=', { dashboard_url: '' }],
    ['clock_offset=0.001', { clock_offset: '0.001' }],
    ['backup_hours=744', { backup_hours: '744' }],
    ['runbook_url=https://a/b/', { runbook_url: 'https://a/b' }],
    ['runbook_url=', { runbook_url: '' }],
    ['runbook_url=http://a//', { runbook_url: 'http://a/' }],
  ])('as the expressions need it: %s', (pair, changed) => {
    const values = { ...DEFAULTS, ...changed };
    expect(read(pair)).toEqual({ values, severities: {}, waits: {}, labels: {} });
  });

  test('of severities, waiting times and labels, the last one of each', () => {
    const severities = ['severity.CrdbNodeDead=off', 'severity.CrdbHotRange=info'];
    const labels = ['label.Team=a=b', 'label._x=', 'label.my_severity=1', 'label.severity_2=.'];
    const waits = ['for.CrdbNodeDead=1h', 'for.CrdbNodeDead=90s'];
    expect(read('severity.CrdbNodeDead=info', ...severities, ...waits, ...labels)).toEqual({
      values: DEFAULTS,
      severities: { CrdbNodeDead: 'off', CrdbHotRange: 'info' },
      waits: { CrdbNodeDead: '90s' },
      labels: { Team: 'a=b', _x: '', my_severity: '1', severity_2: '.' },
    });
  });
});

const BAD_PAIRS = `
  disk dsk=1 severty.ALERT=x nonsense=1 severity.CrdbNodeDed=off severity=off
  severity.CrdbHotRange=page cpu=0 cpu=1.01 cpu=0.5x cpu= restarts=0 restarts=-1 clock_offset=300
  record_age=2 backup_hours=93600 license_days=1814400 disk_floor=5 scan_minutes=1.5
  disk_critical=0.3
  for.CrdbNodeDead=0m for.CrdbNodeDead=5min for.CrdbNodeDead= for.CrdbWatchdog=5m for.CrdbNodeDed=5m
  job=( job=a(?i) job= runbook_url=https:// runbook_url=http://a'b runbook_url=http://a?b
  label.node_id=x label.severity=x label.=x label.1a=x label.a-b=x
`;

test('a pair is refused with its remedy', () => {
  const messages = BAD_PAIRS.trim()
    .split(/\s+/)
    .map((pair) => {
      try {
        return JSON.stringify(read('cpu=0.5', pair));
      } catch (error) {
        return error instanceof SettingError ? error.message : String(error);
      }
    });
  expect(`\n${messages.join('\n')}\n`).toMatchInlineSnapshot(`
    "
    --set disk: write KEY=VALUE
    --set: there is no setting "dsk": did you mean disk?
    --set: there is no setting "severty.ALERT": did you mean severity.ALERT?
    --set: there is no setting "nonsense": see crdb-exporter rules --help
    --set: there is no alert "CrdbNodeDed": did you mean CrdbNodeDead?
    --set: there is no alert "": see crdb-exporter rules --help
    --set severity.CrdbHotRange=page: use off, info, warning, critical
    --set cpu=0: 0 is not a share above 0, up to 1: write 0.9 for 90 %
    --set cpu=1.01: 1.01 is not a share above 0, up to 1: write 0.9 for 90 %
    --set cpu=0.5x: "0.5x" is not a share above 0, up to 1: write 0.9 for 90 %
    --set cpu=: "" is not a share above 0, up to 1: write 0.9 for 90 %
    --set restarts=0: 0 is not a positive number
    --set restarts=-1: -1 is not a positive number
    --set clock_offset=300: 300 is not a number of seconds from 0.001 to 60
    --set record_age=2: 2 is not a number of seconds from 10 to 2678400
    --set backup_hours=93600: 93600 is not a number of hours from 1 to 744
    --set license_days=1814400: 1814400 is not a number of days from 1 to 3660
    --set disk_floor=5: 5 is not a number of bytes from 1048576 on
    --set scan_minutes=1.5: 1.5 is not a whole number of minutes
    --set disk_critical: 0.3 must be less than disk (0.2)
    --set for.CrdbNodeDead=0m: not a duration above 0: write 90s, 10m or 2h
    --set for.CrdbNodeDead=5min: not a duration above 0: write 90s, 10m or 2h
    --set for.CrdbNodeDead=: not a duration above 0: write 90s, 10m or 2h
    --set for.CrdbWatchdog=5m: this alert fires at once; its expression says when
    --set: there is no alert "CrdbNodeDed": did you mean CrdbNodeDead?
    --set job=(: not a regular expression
    --set job=a(?i): not a regular expression
    --set job=: matches nothing; the default is crdb-exporter.*
    --set runbook_url=https://: is not a valid URL: write it as https://host/path
    --set runbook_url=http://a'b: is not a valid URL: write it as https://host/path
    --set runbook_url=http://a?b: has a query or a fragment: remove everything from the ? or # on
    --set label.node_id=x: alerts are joined and routed by this label; set another
    --set label.severity=x: alerts are joined and routed by this label; set another
    --set label.=x: not the name of a label that may be set
    --set label.1a=x: not the name of a label that may be set
    --set label.a-b=x: not the name of a label that may be set
    "
  `);
});
