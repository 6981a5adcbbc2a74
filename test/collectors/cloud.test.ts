import { describe, expect, test } from 'vitest';
import type { CloudApi } from '../../src/cockroach/cloud-api.ts';
import { RequestError } from '../../src/cockroach/http/errors.ts';
import { cloud } from '../../src/collectors/cloud/collector.ts';
import { decodeValue } from '../../src/json/index.ts';
import { poll, type Polled } from './support.ts';

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 0);

function assistantOf(more: object = {}): object {
  return {
    id: 'a1',
    cluster_id: 'c1',
    deployed_region: 'us-east1',
    status: 'RUNNING',
    health: 'HEALTHY',
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-02T00:00:00.5Z',
    url: 'https://secret.example',
    username: 'secret',
    password: 'secret',
    ...more,
  };
}

/** The Cloud API with one answer; undefined is a cluster without an assistant. */
function answering(assistant: object | undefined): CloudApi {
  return {
    async assistant(_reading, shape) {
      if (assistant === undefined) return undefined;
      return decodeValue(Buffer.from(JSON.stringify(assistant)), shape).value;
    },
  };
}

async function pollOnce(assistant: object | undefined): Promise<Polled> {
  const state = cloud.createState();
  return poll(cloud, answering(assistant), { options: {}, state, nowMs: NOW_MS });
}

test('an assistant has its states, identity and timestamps, and no secret', async () => {
  const { lines } = await pollOnce(assistantOf());
  expect(lines.map((line) => line.replace('crdb_cloud_migration_assistant_', ''))).toEqual([
    'info{assistant_id="a1",cluster_id="c1",deployed_region="us-east1"} 1',
    `created_timestamp_seconds ${Date.UTC(2026, 0, 1) / 1000}`,
    `updated_timestamp_seconds ${Date.UTC(2026, 0, 2) / 1000 + 0.5}`,
    `status_since_timestamp_seconds ${NOW_MS / 1000}`,
    'exists 1',
    'status{status="pending"} 0',
    'status{status="running"} 1',
    'status{status="deleting"} 0',
    'status{status="failed"} 0',
    'status{status="other"} 0',
    'health{health="not_computed"} 0',
    'health{health="healthy"} 1',
    'health{health="unavailable"} 0',
    'health{health="unknown"} 0',
    'health{health="other"} 0',
  ]);
});

test('without an assistant every state is 0 and no other series exists', async () => {
  const { lines } = await pollOnce(undefined);
  expect(lines).toHaveLength(11);
  expect(lines.filter((line) => !line.endsWith(' 0'))).toEqual([]);
  expect(lines[0]).toBe('crdb_cloud_migration_assistant_exists 0');
});

test.each([
  ['PENDING', 'pending', 'NOT_COMPUTED', 'not_computed'],
  ['DELETING', 'deleting', 'UNAVAILABLE', 'unavailable'],
  ['FAILED', 'failed', 'UNKNOWN', 'unknown'],
  ['PAUSED', 'other', 'SLEEPY', 'other'],
  [undefined, 'other', 7, 'other'],
])('status %s is %s, health %s is %s', async (status, shown, health, shownHealth) => {
  const { of } = await pollOnce(assistantOf({ status, health }));
  const present = (family: string): readonly string[] =>
    of(`crdb_cloud_migration_assistant_${family}`).filter((line) => line.endsWith(' 1'));
  expect(present('status')).toEqual([`{status="${shown}"} 1`]);
  expect(present('health')).toEqual([`{health="${shownHealth}"} 1`]);
});

describe('the start of a status', () => {
  test('is the time of the first poll that saw it, per assistant', async () => {
    const state = cloud.createState();
    const since: (readonly string[])[] = [];
    const answers = [
      assistantOf({ status: 'PENDING' }),
      assistantOf({ status: 'PENDING', health: 'UNKNOWN' }),
      assistantOf(),
      assistantOf({ id: 'a2' }),
      undefined,
      assistantOf({ id: 'a2' }),
      // Deleted and created again between two polls.
      assistantOf({ id: 'a2', created_at: '2026-01-01T00:10:00Z' }),
      assistantOf({ id: 'a2', created_at: '2026-01-01T00:10:00Z' }),
    ];
    for (const [index, answer] of answers.entries()) {
      const nowMs = 1000 * (index + 1);
      const { of } = await poll(cloud, answering(answer), { options: {}, state, nowMs });
      since.push(of('crdb_cloud_migration_assistant_status_since_timestamp_seconds'));
    }
    expect(since).toEqual([['1'], ['1'], ['3'], ['4'], [], ['6'], ['7'], ['7']]);
  });

  test.each([7_200, -7_200])('moves with the wall clock that is set by %i s', async (bySeconds) => {
    const state = cloud.createState();
    const since: (readonly string[])[] = [];
    for (const [index, by] of [0, bySeconds, bySeconds].entries()) {
      const monotonicMs = 1_000 * index;
      const nowMs = NOW_MS + monotonicMs + 1_000 * by;
      const given = { options: {}, state, nowMs, monotonicMs };
      const { of } = await poll(cloud, answering(assistantOf()), given);
      since.push(of('crdb_cloud_migration_assistant_status_since_timestamp_seconds'));
    }
    const [first, moved] = [NOW_MS / 1_000, NOW_MS / 1_000 + bySeconds].map(String);
    expect(since).toEqual([[first], [moved], [moved]]);
  });
});

test('a failure does not count as a missing assistant', async () => {
  const api: CloudApi = {
    assistant: () => Promise.reject(new RequestError('forbidden', 'assistant: HTTP 403')),
  };
  const given = { options: {}, state: cloud.createState() };
  await expect(poll(cloud, api, given)).rejects.toThrow('HTTP 403');
});
