import { describe, expect, test } from 'vitest';
import { CommandError } from '../../../../src/cli/command.ts';
import {
  readSettings,
  settingNames,
  type Settings,
  SETTINGS,
} from '../../../../src/cli/commands/rules/settings.ts';

function read(...pairs: readonly string[]): Settings {
  return readSettings(pairs, ['CrdbNodeDead', 'CrdbHotRange']);
}

const DEFAULTS = read().values;

test('without pairs each setting has its default, a regular expression as a text of PromQL', () => {
  const written = settingNames().map((name) => {
    const [kind, value] = SETTINGS[name];
    return [name, kind === 'regex' || kind === 'optional regex' ? `"${value}"` : value];
  });
  expect(read()).toEqual({ values: Object.fromEntries(written), severities: {}, labels: {} });
});

describe('a value is taken', () => {
  test.each([
    ['cpu=1', { cpu: '1' }],
    ['cpu=0.001', { cpu: '0.001' }],
    ['latency=12.25', { latency: '12.25' }],
    ['job=a"b\\.c=d', { job: String.raw`"a\"b\\.c=d"` }],
    ['job=(?i)x', { job: '"(?i)x"' }],
    ['excluded_applications=', { excluded_applications: '""' }],
    ['runbook_url=https://a/b/', { runbook_url: 'https://a/b' }],
    ['runbook_url=http://a//', { runbook_url: 'http://a/' }],
  ])('as the expressions need it: %s', (pair, changed) => {
    const values = { ...DEFAULTS, ...changed };
    expect(read(pair)).toEqual({ values, severities: {}, labels: {} });
  });

  test('of severities and labels, the last one of each', () => {
    const severities = ['severity.CrdbNodeDead=off', 'severity.CrdbHotRange=info'];
    const labels = ['label.Team=a=b', 'label._x=', 'label.my_severity=1', 'label.severity_2=.'];
    expect(read('severity.CrdbNodeDead=info', ...severities, ...labels)).toEqual({
      values: DEFAULTS,
      severities: { CrdbNodeDead: 'off', CrdbHotRange: 'info' },
      labels: { Team: 'a=b', _x: '', my_severity: '1', severity_2: '.' },
    });
  });
});

/** Each pair with its message, which repeats it. */
function refuse(pairs: readonly string[], fault: string): [string, string][] {
  return pairs.map((pair) => [pair, `--set ${pair}: ${fault}`]);
}

describe('a pair is refused with its remedy', () => {
  const SHARE = 'not a share above 0, up to 1: write 0.9 for 90 %';
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
    ...refuse(['cpu=0', 'cpu=0.0', 'cpu=1.01', 'cpu=.5', 'cpu=x0.5', 'cpu=0.5x', 'cpu='], SHARE),
    ...refuse(
      ['latency=0', 'latency=-1', 'latency=1.', 'latency=x1', 'latency=1e3'],
      'not a positive number',
    ),
    ...refuse(['job=(', 'job=a(?i)', 'batch_applications=['], 'not a regular expression'),
    ['job=', '--set job=: matches nothing; the default is crdb-exporter.*'],
    ...refuse(['runbook_url=', 'runbook_url=xhttp://a', 'runbook_url=https://'], URL),
    ...refuse(["runbook_url=http://a'b", 'runbook_url=http://a b', 'runbook_url=http://{a}'], URL),
    ...['', '1a', 'a-b', 'a b', 'severity', 'component', 'alertname'].map(
      (name): [string, string] => [
        `label.${name}=x`,
        `--set label.${name}: not the name of a label that may be set`,
      ],
    ),
  ])('%s', (pair, message) => {
    expect(() => read('cpu=0.5', pair)).toThrow(new CommandError(message, 2));
  });
});
