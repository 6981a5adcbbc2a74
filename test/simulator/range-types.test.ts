import { expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';

async function tokenOf({ clusterUrl, username, password }: Simulator): Promise<string> {
  const body = new URLSearchParams({ username, password });
  const response = await fetch(`${clusterUrl}/api/v2/login/`, { method: 'POST', body });
  const answer: unknown = await response.json();
  return Object.values(Object(answer)).join('');
}

function simulate(): Promise<Simulator> {
  return startSimulator({
    nodes: 9,
    ranges: 60,
    sessions: 0,
    metricKeys: 'useful',
    faultyNodes: false,
    survival: { movr: 'zone', bank: 'region' },
  });
}

test('descriptors of ranges are read with a cookie, a repeated parameter and a privilege', async () => {
  await using simulator = await simulate();
  const cookie = `session=${await tokenOf(simulator)}`;
  const statusOf = async (query: string, headers: Record<string, string> = { cookie }) =>
    (await fetch(`${simulator.clusterUrl}/_status/ranges/1?${query}`, { headers })).status;
  expect(await statusOf('range_ids=1&range_ids=2')).toBe(200);
  expect(await statusOf('range_ids=1,2')).toBe(400);
  expect(await statusOf('range_ids=1', {})).toBe(401);
  simulator.setQuirk('rangeTypes', 'forbidden');
  expect(await statusOf('range_ids=1')).toBe(403);
  simulator.setQuirk('rangeTypes', 'missing');
  expect(await statusOf('range_ids=1')).toBe(404);
});

test('tables that survive a zone have 3 voters and 2 non-voters, those that survive a region 5 voters', async () => {
  await using simulator = await simulate();
  const voters = [...simulator.world.state.ranges.values()].map(({ tableId, replicas }) => {
    const types = replicas.map(({ type }) => type).toSorted((a, b) => a - b);
    return `${(tableId ?? 0) >= 120 ? 'bank' : tableId === undefined ? 'none' : 'movr'} ${types.join('')}`;
  });
  expect([...new Set(voters)].toSorted()).toEqual(['bank 00000', 'movr 00055', 'none 000']);
});
