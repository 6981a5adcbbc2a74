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

/** `/Table/104/1/2500`: table id, index id and the columns after them, each an ordered integer. */
export function tableKey(tableId: number, ...rest: readonly number[]): Key {
  const parts = [tableId, ...rest];
  return {
    bytes: Buffer.from(parts.flatMap((part) => encodeInteger(part))),
    pretty: `/Table/${parts.join('/')}`,
  };
}

/** CockroachDB's ordered integer: small ones are one byte from 136 on, others begin with a length byte from 246 on. */
function encodeInteger(value: number): number[] {
  if (value <= 109) return [136 + value];
  const digits: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return [245 + digits.length, ...digits];
}
