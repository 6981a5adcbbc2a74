import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';
import { ask, clusterClient } from './client.ts';

interface UsersBody {
  readonly users: readonly { readonly username: string }[] | null;
  readonly next?: number;
}

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

  it('lists users by their normalized names and needs a session', async () => {
    const { users } = (await client<UsersBody>('/users/')).json();
    const names = users?.map((user) => user.username);
    expect(names).toEqual(simulator.truth().users);
    expect(names).toContain('änne');
    expect(names).toEqual(names?.toSorted());
    expect((await ask(`${simulator.clusterUrl}/api/v2/users/`)).status).toBe(401);
  });

  it('returns 500 with a limit, which creates invalid SQL', async () => {
    expect((await client('/users/?limit=2')).status).toBe(500);
    expect((await client('/users/?limit=0')).status).toBe(200);
  });

  it('pages where the bug is fixed, with an empty last page after a full one', async () => {
    simulator.setQuirk('usersLimit', 'works');
    const count = simulator.truth().users.length;
    const full = (await client<UsersBody>(`/users/?limit=${count}`)).json();
    expect(full.next).toBe(count);
    expect((await client(`/users/?limit=5&offset=${count}`)).text).toBe('{"users":null}');
    simulator.setQuirk('usersLimit', 'broken');
  });

  it('describes a table of the public schema and one of another', async () => {
    const rides = await client('/databases/movr/tables/rides/');
    expect(rides.json()).toMatchObject({
      descriptor_id: 107,
      zone_config_level: 3,
      zone_config: { num_replicas: 3, num_voters: 3, gc: { ttl_seconds: 600 }, subzones: null },
    });
    expect((await client('/databases/MOVR/tables/PUBLIC.Rides/')).text).toBe(rides.text);
    const other = await client('/databases/movr/tables/analytics.daily_rides/');
    expect(other.json()).toMatchObject({
      descriptor_id: 115,
      zone_config: { gc: { ttl_seconds: 90000 } },
    });
    expect(other.json()).not.toHaveProperty('zone_config.num_replicas');
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

  it('counts the ranges of a table', async () => {
    for (const table of simulator.truth().tables) {
      const answer = await client<{ range_count: number }>(
        `/databases/${table.database}/tables/${table.schema}.${table.table}/`,
      );
      expect(answer.json().range_count).toBe(table.ranges);
    }
  });
});
