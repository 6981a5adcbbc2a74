const GROUPS = 8;
/** The groups of an IPv6 address that stand for its /64. */
const NETWORK_GROUPS = 4;

/**
 * What counts as one client: an IPv4 address, or the /64 of an IPv6 address, since whoever has one address of it
 * usually has all. All clients of a unix socket, which have no address, are one.
 */
export function clientNetwork(address = ''): string {
  const ipv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (ipv4 !== undefined) return ipv4;
  if (!address.includes(':')) return address;
  const [bare = ''] = address.split('%');
  const [start = [], end] = bare.split('::').map((part) => part.split(':').filter(Boolean));
  const missing = GROUPS - start.length - (end?.length ?? 0);
  const groups = [...start, ...Array.from({ length: missing }, () => '0'), ...(end ?? [])];
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

/** The first of those that belong to the client with most of them. */
export function firstOfLargest<T extends { readonly network: string }>(
  items: Iterable<T>,
): T | undefined {
  const byNetwork = Map.groupBy(items, ({ network }) => network);
  const [largest] = [...byNetwork.values()].toSorted((a, b) => b.length - a.length);
  return largest?.[0];
}
