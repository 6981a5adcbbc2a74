/** A zone configuration; undefined members are inherited and not written. */
export interface Zone {
  readonly rangeMinBytes?: number;
  readonly rangeMaxBytes?: number;
  readonly gcTtlSeconds?: number;
  readonly replicas?: number;
  readonly voters?: number;
  /** Required region, as a constraint. */
  readonly region?: string;
}

export interface Table {
  readonly id: number;
  database: string;
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly indexes: readonly { readonly name: string; readonly columns: readonly string[] }[];
  readonly grants: readonly { readonly user: string; readonly privileges: readonly string[] }[];
  /** 1 cluster, 2 database, 3 table. */
  readonly zoneLevel: number;
  readonly zone: Zone;
}

const DEFAULT_ZONE: Zone = {
  rangeMinBytes: 134_217_728,
  rangeMaxBytes: 536_870_912,
  gcTtlSeconds: 14_400,
  replicas: 3,
};

const GRANTS = [
  { user: 'admin', privileges: ['ALL'] },
  { user: 'movr', privileges: ['SELECT', 'INSERT', 'UPDATE'] },
  { user: 'reporting', privileges: ['SELECT'] },
  { user: 'root', privileges: ['ALL'] },
];

const ID_COLUMNS = [
  { name: 'id', type: 'UUID' },
  { name: 'city', type: 'VARCHAR' },
  { name: 'created_at', type: 'TIMESTAMPTZ' },
];

function table(
  id: number,
  database: string,
  schema: string,
  name: string,
  more: Partial<Table> = {},
): Table {
  return {
    id,
    database,
    schema,
    name,
    columns: ID_COLUMNS,
    indexes: [{ name: `${name}_pkey`, columns: ['city', 'id'] }],
    grants: GRANTS,
    zoneLevel: 1,
    zone: DEFAULT_ZONE,
    ...more,
  };
}

/** The user tables of a new world; ids above 109 have keys of more than one byte. */
export function createTables(): Table[] {
  return [
    table(104, 'movr', 'public', 'users'),
    table(106, 'movr', 'public', 'vehicles', {
      indexes: [
        { name: 'vehicles_pkey', columns: ['city', 'id'] },
        { name: 'vehicles_by_owner', columns: ['city', 'owner_id'] },
      ],
    }),
    table(107, 'movr', 'public', 'rides', {
      columns: [...ID_COLUMNS, { name: 'revenue', type: 'DECIMAL(10,2)' }],
      zoneLevel: 3,
      zone: { ...DEFAULT_ZONE, gcTtlSeconds: 600, voters: 3, region: 'us-east1' },
    }),
    table(112, 'movr', 'public', 'promo_codes', { zoneLevel: 2 }),
    table(115, 'movr', 'analytics', 'daily_rides', {
      zoneLevel: 2,
      zone: { gcTtlSeconds: 90_000 },
    }),
    table(120, 'bank', 'public', 'accounts'),
    table(121, 'bank', 'public', 'transfers'),
  ];
}

/** Small tables that share ranges with others. */
export function createExtraTables(count: number): Table[] {
  return Array.from({ length: count }, (_, index) =>
    table(1000 + index, `tenant_${index % 40}`, 'public', `events_${index}`),
  );
}

/** Renames a database; returns false when there is none with that name. */
export function renameDatabase(tables: readonly Table[], name: string, newName: string): boolean {
  const found = tables.filter((each) => each.database === name);
  for (const each of found) each.database = newName;
  return found.length > 0;
}
