import type { ListedNode } from '#collectors';

/** The earliest expiry of a certificate of the nodes, and how long it lives where a renewal was seen. Seconds. */
interface CertificateLife {
  readonly expiry: number;
  readonly life?: number | undefined;
}

/** The life of each certificate by its name: `node`, `ca`. */
export type CertificateLives = ReadonlyMap<string, CertificateLife>;

/** Notes when certificates expire: a later expiry than before is a renewal. One that no fresh record has any more is forgotten. */
export function followCertificates(
  before: CertificateLives,
  nodes: readonly ListedNode[],
  nowMs: number,
): CertificateLives {
  const lives = readExpiries(nodes).map(({ name, expiry }) => {
    const { expiry: last = expiry, life = 0 } = before.get(name) ?? {};
    const longest = expiry > last ? Math.max(life, expiry - nowMs / 1000) : life;
    return [name, { expiry, life: longest > 0 ? longest : undefined }] as const;
  });
  const fresh = nodes.filter(({ isFresh }) => isFresh);
  const stillSent = [...before].filter(
    ([name]) => fresh.length === 0 || fresh.some(({ certificates }) => certificates.has(name)),
  );
  return new Map([...stillSent, ...lives]);
}

/** When a certificate of the nodes expires first. */
export interface Expiry {
  readonly name: string;
  readonly expiry: number;
  /** The nodes on which it expires first. */
  readonly nodeIds: number[];
}

/** When each certificate expires first. */
export function readExpiries(nodes: readonly ListedNode[]): readonly Expiry[] {
  const first = new Map<string, Expiry>();
  for (const { id, isFresh, certificates } of nodes) {
    if (!isFresh) continue;
    for (const [name, expiry] of certificates) {
      if (expiry === 0) continue;
      const known = first.get(name);
      if (known === undefined || expiry < known.expiry)
        first.set(name, { name, expiry, nodeIds: [id] });
      else if (expiry === known.expiry) known.nodeIds.push(id);
    }
  }
  return [...first.values()];
}
