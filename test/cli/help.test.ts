import { expect, test } from 'vitest';
import { expectGolden } from '../support/golden.ts';
import { runHere } from './run.ts';

const COMMANDS = [
  '',
  'serve',
  'check',
  'diagnose',
  'reference',
  'completion',
  'rules',
  'dashboards',
  'nodes',
  'ranges',
  'range',
  'sessions',
  'jobs',
  'tables',
  'table',
  'users',
  'probe',
  'cloud',
  'cloud rename-database',
  'cloud assistant',
  'cloud assistant get',
  'cloud assistant provision',
  'cloud assistant delete',
  'cloud ca-cert',
  'cloud ca-cert get',
  'cloud ca-cert set',
  'cloud ca-cert delete',
  'demo',
  'simulate',
];
/** The same for every command that queries a cluster. */
const CONNECTION = /^Connection:\n(?: .*\n)+\n/m;

test('the help of every command', async () => {
  const texts: string[] = [];
  for (const command of COMMANDS) {
    const words = command.split(' ').filter((word) => word !== '');
    const { code, out, err } = await runHere([...words, '--help']);
    expect({ command, code, err }).toEqual({ command, code: 0, err: '' });
    const isShown = command === 'nodes' || command === 'serve';
    texts.push(isShown ? out : out.replace(CONNECTION, 'Connection: …\n\n'));
  }
  await expectGolden(texts.join('\n----\n\n'), 'test/golden/help.txt');
});
