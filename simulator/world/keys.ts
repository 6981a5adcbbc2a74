/** A key as stored and as printed. */
export interface Key {
  readonly bytes: Buffer;
  readonly pretty: string;
}

/** Room between two keys of a table at first, so that ranges can be split again and again. */
const WIDEST_STEP = 2 ** 20;

export const MIN_KEY: Key = { bytes: Buffer.alloc(0), pretty: '/Min' };
export const MAX_KEY: Key = { bytes: Buffer.from([0xff, 0xff]), pretty: '/Max' };

/** A key of the system span, which starts with the byte 4. */
export function systemKey(name: string, rest: string): Key {
  return {
    bytes: Buffer.concat([Buffer.from([0x04, 0x00]), Buffer.from(rest)]),
    pretty: `/System/${name}`,
  };
}

const VIRTUAL_CLUSTER_BYTE = 0xfe;

/**
 * `/Table/104/1/2500`: table id, index id and the columns after them, each an ordered integer. In virtual cluster 3 the
 * same is `/Tenant/3/Table/104/1/2500`.
 */
export function tableKey(virtualCluster: number | undefined, ...parts: readonly number[]): Key {
  const bytes = parts.flatMap((part) => encodeInteger(part));
  const pretty = `/Table/${parts.join('/')}`;
  if (virtualCluster === undefined) return { bytes: Buffer.from(bytes), pretty };
  return {
    bytes: Buffer.from([VIRTUAL_CLUSTER_BYTE, ...encodeInteger(virtualCluster), ...bytes]),
    pretty: `/Tenant/${virtualCluster}${pretty}`,
  };
}

/** CockroachDB's ordered integer: small ones are one byte from 136 on, others begin with a length byte from 246 on. */
function encodeInteger(value: number): number[] {
  if (value <= 109) return [136 + value];
  const digits: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return [245 + digits.length, ...digits];
}

/** A key between two others, in the same table as the start where that is in one. */
export function splitKey(start: Key, end: Key): Key {
  const from = columnsOf(start);
  if (from === undefined) return middleKey(start, end);
  const [table = 0, index = 1, row = 0, ...more] = from.columns;
  const after = columnsOf(end);
  const until = after?.virtualCluster === from.virtualCluster ? after?.columns : undefined;
  const columns = columnsBetween([table, index, row, ...more], until ?? []);
  return tableKey(from.virtualCluster, ...columns);
}

/** The integers of a table's key, and the virtual cluster that the table is in. */
function columnsOf({
  pretty,
}: Key):
  | { readonly virtualCluster: number | undefined; readonly columns: readonly number[] }
  | undefined {
  const match = /^(?:\/Tenant\/(\d+))?\/Table\/([\d/]+)$/.exec(pretty);
  if (match === null) return undefined;
  const [, tenant, columns = ''] = match;
  return {
    virtualCluster: tenant === undefined ? undefined : Number(tenant),
    columns: columns.split('/').map(Number),
  };
}

/** Later in the last column, if there is room; else in one more column. `end` is empty when there is none. */
function columnsBetween(start: readonly number[], end: readonly number[]): readonly number[] {
  const last = start.length - 1;
  for (let step = WIDEST_STEP; step >= 1; step /= 2) {
    const columns = start.with(last, (start[last] ?? 0) + step);
    if (end.length === 0 || isBefore(columns, end)) return columns;
  }
  return columnsBetween([...start, 0], end);
}

function isBefore(columns: readonly number[], others: readonly number[]): boolean {
  const at = columns.findIndex((column, index) => column !== others[index]);
  if (at < 0) return columns.length < others.length;
  return (columns[at] ?? 0) < (others[at] ?? -1);
}

/** Outside of tables: half-way between the bytes, and not beyond the keys that begin like the start. */
function middleKey(start: Key, end: Key): Key {
  const beyond =
    start === MIN_KEY ? Buffer.from([5]) : Buffer.concat([start.bytes, Buffer.from([0xff])]);
  const upper = Buffer.compare(end.bytes, beyond) < 0 ? end.bytes : beyond;
  const length = Math.max(start.bytes.length, upper.length) + 1;
  const numberOf = (bytes: Buffer): bigint =>
    BigInt(`0x${bytes.toString('hex').padEnd(2 * length, '0')}`);
  const middle = (numberOf(start.bytes) + numberOf(upper)) / 2n;
  const digits = middle.toString(16).padStart(2 * length, '0');
  const hex = digits.replace(/(?:00)+$/, '');
  const space = hex.startsWith('04') ? 'System' : 'Meta2';
  return { bytes: Buffer.from(hex, 'hex'), pretty: `/${space}/"${hex}"` };
}
