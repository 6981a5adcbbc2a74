/** A key as stored and as printed. */
export interface Key {
  readonly bytes: Buffer;
  readonly pretty: string;
}

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
