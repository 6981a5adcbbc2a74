import type { ParsedSample } from '../../test/metrics/parse-exposition.ts';
import { Exposed } from '../../test/rules/exposed/exposition.ts';

/** How long the worlds go on, in their minutes. */
export const MINUTES = 160;
/** When most things begin: a Prometheus knows something of the past by then. */
const BEGINS = 40;

/** Something that happens to a cluster, or to its exporters. All times are minutes of the world. */
export interface LiveWorld {
  readonly world: string;
  readonly begins: number;
  readonly ends: number;
  /** The notifications that are meant, each with the most minutes from the beginning to it. */
  readonly notifies: Readonly<Record<string, number>>;
  /** What the exporters of one job expose, by cluster. The first cluster names the job. */
  readonly clusters: readonly Exposed[];
  /** When the Prometheus that watches this world restarts; the other worlds share one. */
  readonly restart?: { readonly at: number; readonly flags: readonly string[] };
}

/** The ten worlds, over what an exporter serves of a calm cluster. */
export function liveWorlds(samples: readonly ParsedSample[]): readonly LiveWorld[] {
  const create: Create = (cluster, instances) =>
    new Exposed(samples, cluster, MINUTES, { instances });
  return [
    replacedPods(create),
    removedCluster(create),
    renamedCluster(create),
    restartedPrometheus(create, 'stops-default', []),
    // As docs/prometheus.md advises.
    restartedPrometheus(create, 'stops', ['--rules.alert.for-grace-period=1m']),
    secondAlert(create),
    endedImport(create),
    leak(create),
    partition(create),
    halfBlind(create),
    crashLoop(create),
  ];
}

type Create = (cluster: string, instances?: readonly string[]) => Exposed;

function replacedPods(create: Create): LiveWorld {
  const exposed = create('replaced', ['a', 'b', 'c', 'd']);
  // Shorter than CrdbMultipleNodesDown waits, and the last thing that the first pod has seen.
  const isBad = (minute: number): boolean => minute >= BEGINS && minute < BEGINS + 0.5;
  for (const instance of ['a', 'b']) exposed.exporterLives(instance, 0, BEGINS + 0.5);
  for (const instance of ['c', 'd']) {
    exposed.exporterLives(instance, BEGINS + 0.5, MINUTES + 1);
  }
  for (const id of ['4', '5']) {
    exposed.status(id, (minute) => (isBad(minute) ? 'unavailable' : 'live'));
  }
  exposed.change(/^crdb_range_problem_ranges$/, { problem: 'unavailable' }, (minute, value) =>
    isBad(minute) ? 30 : value,
  );
  exposed.change(/^crdb_ranges_without_live_replica$/, {}, (minute, value) =>
    isBad(minute) ? 3 : value,
  );
  return {
    world: 'both pods of the exporter are replaced while two nodes are down for half a minute',
    begins: BEGINS,
    ends: BEGINS + 0.5,
    notifies: {},
    clusters: [exposed],
  };
}

function removedCluster(create: Create): LiveWorld {
  const exposed = create('removed', ['a', 'late', 'c']);
  exposed.exporterLives('late', 0, 0);
  exposed.exporterLives('a', 0, BEGINS).exporterLives('c', BEGINS - 1, MINUTES + 1);
  exposed.change(/^crdb_/, { crdb_cluster: 'removed', instance: 'removed-c' }, () => undefined);
  return {
    world: 'a cluster is removed, and its pod replaced at the same time',
    begins: BEGINS,
    ends: BEGINS,
    notifies: {},
    clusters: [exposed],
  };
}

function renamedCluster(create: Create): LiveWorld {
  const before = create('old-name', ['a']).exporterLives('a', 0, BEGINS);
  const after = create('new-name', ['c']).exporterLives('c', BEGINS - 1, MINUTES + 1);
  return {
    world: 'a cluster gets another name, and its pod is replaced at the same time',
    begins: BEGINS,
    ends: BEGINS,
    notifies: {},
    clusters: [before, after],
  };
}

function restartedPrometheus(create: Create, cluster: string, flags: readonly string[]): LiveWorld {
  const [begins, restarts, ends] = [BEGINS, BEGINS + 20, BEGINS + 60];
  const exposed = create(cluster, ['a']);
  const stopped = (minute: number): number => Math.min(Math.max(0, minute - begins), ends - begins);
  for (const [names, perMinute] of [
    [/sql_queries/, 6000],
    [/sql_statements_started/, 1200],
  ] as const) {
    exposed.change(names, {}, (minute, value) => value - stopped(minute) * perMinute);
  }
  return {
    world: `Prometheus restarts while no statement runs${flags.length > 0 ? `, with ${flags.join(' ')}` : ''}`,
    begins,
    ends,
    notifies: { 'CrdbSqlStopped critical': 14 },
    clusters: [exposed],
    restart: { at: restarts, flags },
  };
}

function secondAlert(create: Create): LiveWorld {
  const exposed = create('second', ['a']);
  const [begins, ends] = [BEGINS, BEGINS + 15];
  const isOn = (minute: number): boolean => minute >= begins && minute < ends;
  for (const id of ['4', '5']) {
    exposed.status(id, (minute) => (isOn(minute) ? 'unavailable' : 'live'));
  }
  exposed.change(/^crdb_store_available_bytes$/, { store_id: '1' }, (minute, value) =>
    isOn(minute - 2) && isOn(minute) ? value / 20 : value,
  );
  return {
    world: 'a second critical alert: two nodes are down, two minutes later a disk is full',
    begins,
    ends,
    notifies: { 'CrdbMultipleNodesDown critical': 4, 'CrdbStoreDiskLow critical': 5 },
    clusters: [exposed],
  };
}

function endedImport(create: Create): LiveWorld {
  const exposed = create('imports', ['a']);
  const [begins, ends] = [95, 120];
  const capacity = 1e12;
  exposed.change(/^crdb_store_capacity_bytes$/, { store_id: '1' }, () => capacity);
  exposed.change(/^crdb_store_available_bytes$/, { store_id: '1' }, (minute) => {
    const done = Math.min(1, Math.max(0, minute - begins) / (ends - begins));
    return capacity * (0.38 - 0.12 * done);
  });
  return {
    world: 'an import of 25 minutes takes a store from 38 to 26 % free',
    begins,
    ends,
    notifies: {},
    clusters: [exposed],
  };
}

function leak(create: Create): LiveWorld {
  const exposed = create('leaks', ['a']);
  const [begins, ends] = [BEGINS, BEGINS + 95];
  const leaked = (minute: number): number =>
    minute < begins || minute >= ends ? 0 : (minute - begins) * (350 / 60);
  exposed.change(
    /^crdb_application_sessions$/,
    { state: 'idle' },
    (minute) => 100 + leaked(minute),
  );
  exposed.change(/^crdb_sessions$/, { state: 'idle' }, (minute) => (100 + leaked(minute)) / 6);
  return {
    world: 'an application leaks 350 connections an hour, until it is restarted',
    begins,
    ends,
    notifies: { 'CrdbSessionLeak warning': 90 },
    clusters: [exposed],
  };
}

function partition(create: Create): LiveWorld {
  const exposed = create('parted', ['a']);
  const [begins, ends] = [BEGINS, BEGINS + 30];
  const isOn = (minute: number): boolean => minute >= begins && minute < ends;
  exposed.change(/network_unreachable_pairs/, {}, (minute, value) => (isOn(minute) ? 8 : value));
  exposed.change(/^crdb_store_slow_requests$/, { store_id: '3', kind: 'raft' }, (minute, value) =>
    isOn(minute) ? 4 : value,
  );
  return {
    world: 'a partition between two regions, and requests that are stuck',
    begins,
    ends,
    notifies: { 'CrdbPartitionSuspected warning': 8, 'CrdbPartitionSuspected critical': 13 },
    clusters: [exposed],
  };
}

function halfBlind(create: Create): LiveWorld {
  const exposed = create('half');
  const [begins, ends] = [BEGINS, BEGINS + 40];
  const isOn = (minute: number): boolean => minute >= begins && minute < ends;
  const own = { instance: 'half-b' };
  exposed.change(/^crdb_(?!up|exporter)/, own, (minute, value) =>
    isOn(minute) && isOn(minute - 2) ? undefined : value,
  );
  exposed.change(/^crdb_up$/, own, (minute, value) => (isOn(minute) ? 0 : value));
  exposed.change(/last_success/, own, (minute, value) =>
    isOn(minute) ? value - (minute - begins) * 60 : value,
  );
  return {
    world: 'one exporter of a pair loses the API',
    begins,
    ends,
    notifies: { 'CrdbExportersDisagree warning': 8 },
    clusters: [exposed],
  };
}

function crashLoop(create: Create): LiveWorld {
  const exposed = create('crashes', ['a']);
  const [begins, ends] = [BEGINS, BEGINS + 60];
  const isOn = (minute: number): boolean => minute >= begins && minute < ends;
  exposed.exporterDown('a', (minute) => isOn(minute) && Math.floor(minute) % 5 === 0);
  exposed.change(/^process_start/, {}, (minute, value) =>
    minute < begins ? value : Math.floor(Math.min(minute, ends) / 5) * 300,
  );
  return {
    world: 'the exporter is killed every five minutes',
    begins,
    ends,
    notifies: { 'CrdbExporterUnstable warning': 15 },
    clusters: [exposed],
  };
}
