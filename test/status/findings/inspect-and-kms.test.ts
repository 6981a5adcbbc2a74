import { expect, test } from 'vitest';
import { type Node, node, nodesResult } from '../results.ts';
import { check, found, levels, metrics, NOW_MS } from './found.ts';

/** A node on which INSPECT has found this many issues. */
function issues(count: number): Partial<Node> {
  return metrics({ 'jobs.inspect.issues_found': count });
}

test('the finding of a KMS out of reach lasts until a backup has ended since', () => {
  const failed = NOW_MS / 1000 - 7200;
  const first = node(1, metrics({ 'backup.last-failed-time.kms-inaccessible': failed }));
  const kms = (lastBackupSeconds: number) =>
    check({ nodes: { ...nodesResult(first), lastBackupSeconds } }).filter(
      ({ alert }) => alert === 'CrdbBackupKmsInaccessible',
    );
  expect(kms(failed - 1)).toMatchObject([
    {
      text: 'A backup failed 2 h ago because its KMS was out of reach, and no scheduled one is known to have ended since.',
      since: new Date(failed * 1000).toISOString(),
    },
  ]);
  expect(kms(0)).toHaveLength(1);
  expect(kms(failed)).toEqual([]);
  expect(found({})).toEqual([]);
});

test('the finding of inconsistent data is critical at once, and names the nodes that counted it', () => {
  const problems = found(issues(3), [node(2, issues(1)), node(3, issues(0))]);
  expect(problems).toMatchObject([
    {
      alert: 'CrdbDataInconsistent',
      nodeIds: [1, 2],
      text: 'INSPECT has found 4 issues since nodes 1 and 2 started: data is inconsistent.',
    },
  ]);
  expect(levels(problems)).toEqual(['critical']);
  expect(found(issues(0))).toEqual([]);
});
