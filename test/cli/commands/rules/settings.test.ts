import { describe, expect, test } from 'vitest';
import { CommandError } from '../../../../src/cli/command.ts';
import {
  readSettings,
  type Settings,
  SETTINGS,
} from '../../../../src/cli/commands/rules/settings.ts';

function read(...pairs: readonly string[]): Settings {
  return readSettings(pairs, [
    { name: 'CrdbNodeDead', waits: true },
    { name: 'CrdbHotRange', waits: true },
    { name: 'CrdbWatchdog', waits: false },
  ]);
}

const DEFAULTS = read().values;

test('without pairs each setting has its default, a regular expression as a text of PromQL', () => {
  const written = Object.entries(SETTINGS).map(([name, [kind, value]]) => {
    return [name, kind === 'regex' ? `"${value}"` : value];
  });
  const values = Object.fromEntries(written);
  expect(read()).toEqual({ values, severities: {}, waits: {}, labels: {} });
});

describe('a value is taken', () => {
  test.each([
    ['cpu=1', { cpu: '1' }],
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

/** Each pair with its message, which repeats it. */
function refuse(pairs: readonly string[], fault: string): [string, string][] {
  return pairs.map((pair) => [pair, `--set ${pair}: ${fault}`]);
}

/** The same for numbers, whose messages also have the value as it is read. */
function refuseNumbers(pairs: readonly string[], fault: string): [string, string][] {
  return pairs.map((pair) => {
    const value = pair.replace(/.*=/, '');
    const shown = value !== '' && Number.isFinite(Number(value)) ? Number(value) : `"${value}"`;
    return [pair, `--set ${pair}: ${shown} is not ${fault}`];
  });
}

describe('a pair is refused with its remedy', () => {
  const SHARE = 'a share above 0, up to 1: write 0.9 for 90 %';
  const URL = 'not an address that begins with http:// or https://';
  test.each([
    ['disk', '--set disk: write KEY=VALUE'],
    ['dsk=1', '--set: there is no setting "dsk": did you mean disk?'],
    ['severty.ALERT=x', '--set: there is no setting "severty.ALERT": did you mean severity.ALERT?'],
    ['lable.NAME=x', '--set: there is no setting "lable.NAME": did you mean label.NAME?'],
    ['nonsense=1', '--set: there is no setting "nonsense": see crdb-exporter rules --help'],
    [
      'severity.CrdbNodeDed=off',
      '--set: there is no alert "CrdbNodeDed": did you mean CrdbNodeDead?',
    ],
    ['severity=off', '--set: there is no alert "": see crdb-exporter rules --help'],
    ...refuse(
      ['severity.CrdbHotRange=page', 'severity.CrdbHotRange='],
      'use off, info, warning, critical',
    ),
    ...refuseNumbers(['cpu=0', 'cpu=0.0', 'cpu=1.01', 'cpu=x0.5', 'cpu=0.5x', 'cpu='], SHARE),
    ...refuseNumbers(['restarts=0', 'restarts=-1', 'restarts=x1'], 'a positive number'),
    ...refuseNumbers(
      ['clock_offset=300', 'latency=60.1', 'heartbeat=0', 'disk_latency=100'],
      'a number of seconds from 0.001 to 60',
    ),
    ...refuseNumbers(
      ['transaction_age=900000000', 'record_age=2'],
      'a number of seconds from 10 to 2678400',
    ),
    ...refuseNumbers(['backup_hours=93600'], 'a number of hours from 1 to 744'),
    ...refuseNumbers(['license_days=1814400'], 'a number of days from 1 to 3660'),
    ...refuseNumbers(['disk_floor=5'], 'a number of bytes from 1048576 on'),
    ...refuse(
      ['for.CrdbNodeDead=0m', 'for.CrdbNodeDead=10', 'for.CrdbNodeDead=5min', 'for.CrdbNodeDead='],
      'not a duration above 0: write 90s, 10m or 2h',
    ),
    [
      'for.CrdbWatchdog=5m',
      '--set for.CrdbWatchdog: this alert fires at once; its expression says when',
    ],
    ['for.CrdbNodeDed=5m', '--set: there is no alert "CrdbNodeDed": did you mean CrdbNodeDead?'],
    ...refuse(['job=(', 'job=a(?i)', 'batch_applications=['], 'not a regular expression'),
    ['job=', '--set job=: matches nothing; the default is crdb-exporter.*'],
    ...refuse(['runbook_url=', 'runbook_url=xhttp://a', 'runbook_url=https://'], URL),
    ...refuse(["runbook_url=http://a'b", 'runbook_url=http://a b', 'runbook_url=http://{a}'], URL),
    ...['crdb_cluster', 'node_id', 'job', 'instance', 'severity', 'alertname'].map(
      (name): [string, string] => [
        `label.${name}=x`,
        `--set label.${name}: alerts are joined and routed by this label; set another`,
      ],
    ),
    ...['', '1a', 'a-b', 'a b'].map((name): [string, string] => [
      `label.${name}=x`,
      `--set label.${name}: not the name of a label that may be set`,
    ]),
  ])('%s', (pair, message) => {
    expect(() => read('cpu=0.5', pair)).toThrow(new CommandError(message, 2));
  });
});
