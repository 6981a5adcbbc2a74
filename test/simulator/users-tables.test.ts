import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';
import { clusterClient } from './client.ts';

describe('GET /users/ and table details', () => {
  let simulator: Simulator;
  let client: Awaited<ReturnType<typeof clusterClient>>;

  beforeAll(async () => {
    simulator = await startSimulator({
      frozen: true,
      metricKeys: 'useful',
      users: [{ name: 'ÄNNE' }],
    });
    client = await clusterClient(simulator);
  });
  afterAll(() => simulator.close());

  it('returns 500 with a limit, which creates invalid SQL', async () => {
    expect((await client('/users/?limit=2')).status).toBe(500);
    expect((await client('/users/?limit=0')).status).toBe(200);
  });

  it('has two kinds of 404: the router accepts no quotes, SQL has no such table', async () => {
    for (const path of ['/databases/movr/tables/%22rides%22/', '/databases/mo-vr/tables/rides/']) {
      expect(await client(path)).toMatchObject({ status: 404, text: '404 page not found\n' });
    }
    for (const path of ['/databases/movr/tables/nothing/', '/databases/nothing/tables/rides/']) {
      expect(await client(path)).toMatchObject({
        status: 404,
        text: 'database or table not found\n',
      });
    }
  });

  it('accepts quoted names only under the quirk', async () => {
    simulator.setQuirk('quotedNames', true);
    expect((await client('/databases/movr/tables/%22rides%22/')).status).toBe(200);
    expect((await client('/databases/movr/tables/%22Rides%22/')).status).toBe(404);
    expect((await client('/databases/%22movr%22/tables/public.%22rides%22/')).status).toBe(200);
    simulator.setQuirk('quotedNames', false);
  });
});
