import { lookup } from 'node:dns/promises';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { readClientTls } from '../../config/tls-files.ts';
import type { ClusterConfig } from '../../config/schema.ts';
import { classifyThrown } from '../../http/errors.ts';
import { writeMs } from '../human.ts';
import { type Finding, findingOf, type Verdict } from './finding.ts';

const TIMEOUT_MS = 5_000;
/** Time to renew a certificate without haste. */
const EXPIRES_SOON_DAYS = 30;
const DAY_MS = 86_400_000;

interface Way {
  readonly url: URL;
  readonly config: ClusterConfig;
}

/** Name, TCP and TLS of one URL, each only when the one before is good. */
export async function checkWay(text: string, config: ClusterConfig): Promise<readonly Finding[]> {
  const way = { url: new URL(text), config };
  if (isProxied(way)) return [found(way, 'connection', ['skipped', 'goes through a proxy'])];
  const findings: Finding[] = [];
  const steps: readonly (readonly [string, () => Promise<Said>])[] = [
    ['name', () => resolveName(way)],
    ['TCP', () => connectPlain(way)],
    ...(way.url.protocol === 'https:' ? ([['TLS', () => shakeHands(way)]] as const) : []),
  ];
  for (const [check, look] of steps) {
    try {
      findings.push(found(way, check, await look()));
    } catch (error) {
      const failed = classifyThrown(error, `${check} of ${way.url.host}`);
      const about = { check, target: way.url.origin, operation: 'nodes', config } as const;
      return [...findings, findingOf(failed, about)];
    }
  }
  return findings;
}

type Said = readonly [verdict: Verdict, detail: string, advice?: string];

function found({ url }: Way, check: string, [verdict, detail, advice]: Said): Finding {
  return { check, target: url.origin, verdict, detail, advice };
}

function isProxied({ url, config }: Way): boolean {
  const proxy = url.protocol === 'https:' ? config.proxy.https : config.proxy.http;
  return proxy !== undefined;
}

function hostOf({ url }: Way): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

async function resolveName(way: Way): Promise<Said> {
  const host = hostOf(way);
  if (isIP(host) !== 0) return ['ok', `${host} is an address`];
  const addresses = await lookup(host, { all: true });
  return ['ok', `${host} is ${addresses.map(({ address }) => address).join(', ')}`];
}

function portOf({ url }: Way): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
}

async function connectPlain(way: Way): Promise<Said> {
  const startedAt = performance.now();
  const socket = connect({ host: hostOf(way), port: portOf(way), timeout: TIMEOUT_MS });
  try {
    await ready(socket, 'connect');
    return ['ok', `connected in ${writeMs(performance.now() - startedAt)}`];
  } finally {
    socket.destroy();
  }
}

/** Resolves at the event; rejects on an error, or when nothing comes for too long. */
function ready(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, resolve);
    socket.once('error', reject);
    socket.once('timeout', () => {
      const error = new Error(`nothing came within ${TIMEOUT_MS / 1000} s`);
      reject(Object.assign(error, { code: 'UND_ERR_CONNECT_TIMEOUT' }));
    });
  });
}

/** Looks at the certificate even where it would not be accepted, to say why. */
async function shakeHands(way: Way): Promise<Said> {
  const { tls } = way.config.cluster_api ?? {};
  const files = tls === undefined ? {} : await readClientTls(tls);
  const servername = tls?.server_name ?? (isIP(hostOf(way)) === 0 ? hostOf(way) : undefined);
  const socket = connectTls({
    ...files,
    host: hostOf(way),
    port: portOf(way),
    timeout: TIMEOUT_MS,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
    ...(servername !== undefined && { servername }),
  });
  try {
    await ready(socket, 'secureConnect');
    return judgeCertificate(socket, tls?.insecure_skip_verify ?? false);
  } finally {
    socket.destroy();
  }
}

function judgeCertificate(socket: TLSSocket, isUnchecked: boolean): Said {
  const certificate = socket.getPeerX509Certificate();
  const days = ((certificate?.validToDate.getTime() ?? 0) - Date.now()) / DAY_MS;
  const names = certificate?.subjectAltName?.replaceAll(/DNS:|IP Address:/g, '') ?? 'no names';
  const validity =
    days < 0 ? `expired ${Math.ceil(-days)} days ago` : `${Math.floor(days)} days left`;
  const detail = `${socket.getProtocol()}, certificate for ${names}, ${validity}`;
  if (isUnchecked) {
    return [
      'warning',
      `${detail}, not checked`,
      'give the CA in tls.ca_file and remove tls.insecure_skip_verify',
    ];
  }
  if (!socket.authorized) throw refusalOf(socket, detail);
  return days < EXPIRES_SOON_DAYS
    ? ['warning', detail, 'renew the certificate of the node with `cockroach cert create-node`']
    : ['ok', detail];
}

/** Node says the code alone where the chain is bad, and an error where the name is. */
function refusalOf(socket: TLSSocket, detail: string): Error {
  const said: unknown = socket.authorizationError;
  const code = said instanceof Error && 'code' in said ? said.code : String(said);
  return Object.assign(new Error(`${detail}: ${String(code)}`), { code });
}
