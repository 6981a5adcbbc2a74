// `npm run lab -- live`: compares the exporter with what a real cluster says by other ways. It writes to no cluster that it did not start.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { hasProgram } from '../../test/support/programs.ts';
import { startCockroach } from './cockroach.ts';
import { type Comparison, compareOnce } from './compare.ts';
import type { Access } from './server.ts';

const USAGE = `npm run lab -- live --url https://crdb-1:8080 [--url …] [--username exporter] [--ca-file ca.crt]

The password comes from CRDB_LIVE_PASSWORD. With a URL for each node everything is compared. Without --url, three nodes of the
program \`cockroach\` are started, of which one is stopped and one is decommissioned. Without both it is skipped.
`;

const { values } = parseArgs({
  options: {
    url: { type: 'string', multiple: true },
    username: { type: 'string' },
    'ca-file': { type: 'string' },
    help: { type: 'boolean' },
  },
});

if (values.help === true) process.stdout.write(USAGE);
else if (values.url !== undefined) {
  const caFile = values['ca-file'];
  const failed = await check('the cluster', {
    urls: values.url,
    username: values.username,
    password: process.env['CRDB_LIVE_PASSWORD'],
    ca: caFile === undefined ? undefined : readFileSync(caFile, 'utf8'),
  });
  process.exitCode = failed ? 1 : 0;
} else if (hasProgram('cockroach')) process.exitCode = (await checkOwnCluster()) ? 1 : 0;
else process.stdout.write('skipped: test:live (no --url, and no program cockroach)\n');

/** Compares once and prints the result; resolves to whether anything differs. */
async function check(what: string, access: Access): Promise<boolean> {
  const startedMs = performance.now();
  const found = await compareOnce(access);
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  process.stdout.write(`${what}, in ${seconds} s:\n${found.map(draw).join('')}`);
  return found.some(({ verdict }) => verdict === 'differs');
}

function draw({ what, verdict, detail }: Comparison): string {
  const mark = { same: '✓', differs: '✗', 'not compared': '-' }[verdict];
  return `  ${mark} ${what.padEnd(26)} ${detail}\n`;
}

/** A cluster of our own: all nodes up, one stopped, one decommissioned. */
async function checkOwnCluster(): Promise<boolean> {
  await using cluster = await startCockroach();
  const access = { urls: cluster.urls, username: undefined, password: undefined, ca: undefined };
  const results = [await check('three nodes', access)];
  await cluster.stop(3);
  results.push(await check('one of them stopped', access));
  await cluster.start(3);
  await cluster.add();
  await cluster.decommission(4);
  results.push(await check('a fourth one decommissioned', access));
  return results.includes(true);
}
