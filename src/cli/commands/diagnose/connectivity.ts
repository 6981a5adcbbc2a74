import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { ClusterApiConfig } from '../../../config/schema.ts';
import { readClientTls } from '../../../config/tls-files.ts';
import type { Operation } from '../../../diagnosis/failure.ts';
import { formatMs } from '../../../format.ts';
import { toRequestError } from '../../../http/errors.ts';
import type { Checklist } from './checklist.ts';

const TIMEOUT_MS = 5_000;
/** Time to renew a certificate without haste. */
const EXPIRES_SOON_DAYS = 30;
const DAY_MS = 86_400_000;

/** Checks name, TCP and TLS of one URL, each only after the one before succeeded; resolves to whether all did. */
export async function checkConnectivity(list: Checklist, text: string, operation: Operation) {
  const { config } = list;
  const url = new URL(text);
  const isHttps = url.protocol === 'https:';
  const target = url.origin;
  if ((isHttps ? config.proxy.https : config.proxy.http) !== undefined) {
    const detail = 'goes through a proxy';
    list.add('connection', { verdict: 'skipped', detail }, target);
    return true;
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (isHttps ? 443 : 80);
  const tls = operation.api === 'cluster' ? config.cluster_api?.tls : undefined;
  const run = (check: string, step: Parameters<Checklist['run']>[3]) => {
    const work: typeof step = () =>
      step().catch((error: unknown) => {
        throw toRequestError(error, `${check} of ${url.host}`, { url: url.href });
      });
    return list.run(check, target, operation, work);
  };
  return (
    (await run('name', () => resolveName(host))) &&
    (await run('TCP', () => connectTcp(host, port))) &&
    (!isHttps || (await run('TLS', () => tlsHandshake(host, port, tls))))
  );
}

async function resolveName(host: string) {
  if (isIP(host) !== 0) return `${host} is an address`;
  const addresses = await lookup(host, { all: true });
  return `${host} is ${addresses.map(({ address }) => address).join(', ')}`;
}

async function connectTcp(host: string, port: number) {
  const startedAt = performance.now();
  const socket = connect({ host, port, timeout: TIMEOUT_MS });
  return await describeOnce(socket, 'connect', () => {
    return `connected in ${formatMs(performance.now() - startedAt)}`;
  });
}

/** Reads the certificate even where it would not be accepted, to report why. */
async function tlsHandshake(host: string, port: number, tls: ClusterApiConfig['tls'] | undefined) {
  const files = tls === undefined ? {} : await readClientTls(tls);
  const servername = tls?.server_name ?? (isIP(host) === 0 ? host : undefined);
  const socket = connectTls({
    ...files,
    host,
    port,
    timeout: TIMEOUT_MS,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
    ...(servername !== undefined && { servername }),
  });
  return await describeOnce(socket, 'secureConnect', () =>
    checkCertificate(socket, tls?.insecure_skip_verify ?? false),
  );
}

/** Describes a socket at the event, then closes it; rejects on an error or after the timeout. */
async function describeOnce<T>(socket: Socket, event: string, describe: () => T): Promise<T> {
  socket.once('timeout', () => {
    const error = new Error(`no response within ${TIMEOUT_MS / 1000} s`);
    socket.destroy(Object.assign(error, { code: 'UND_ERR_CONNECT_TIMEOUT' }));
  });
  try {
    await once(socket, event);
    return describe();
  } finally {
    socket.destroy();
  }
}

function checkCertificate(socket: TLSSocket, isUnverified: boolean) {
  const certificate = socket.getPeerX509Certificate();
  const days = ((certificate?.validToDate.getTime() ?? 0) - Date.now()) / DAY_MS;
  const names = certificate?.subjectAltName?.replaceAll(/DNS:|IP Address:/g, '') ?? 'no names';
  const validity =
    days < 0 ? `expired ${Math.ceil(-days)} days ago` : `${Math.floor(days)} days left`;
  const detail = `${socket.getProtocol()}, certificate for ${names}, ${validity}`;
  if (isUnverified) {
    const advice = 'set tls.ca_file and remove tls.insecure_skip_verify';
    return { verdict: 'warning', detail: `${detail}, not verified`, advice } as const;
  }
  if (!socket.authorized) {
    // Node gives the code alone where the chain is wrong, and an error where the name is.
    const reason: unknown = socket.authorizationError;
    const code = reason instanceof Error && 'code' in reason ? reason.code : String(reason);
    throw Object.assign(new Error(`${detail}: ${String(code)}`), { code });
  }
  if (days >= EXPIRES_SOON_DAYS) return detail;
  const advice = 'renew the certificate of the node with `cockroach cert create-node`';
  return { verdict: 'warning', detail, advice } as const;
}
