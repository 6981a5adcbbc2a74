import { describe, expect, test } from 'vitest';
import { TLS_REFUSALS, type TlsRefusal } from '../../../src/base/vocabulary.ts';
import { parseExposition } from '../../metrics/parse-exposition.ts';
import { createAuthority, createSelfSigned, type Identity } from '../../support/certificates.ts';
import { fetchPath } from '../routes/fetch-path.ts';
import { type Orchard, startOrchard } from '../routes/orchard.ts';

// Each kind of client certificate, with each client_auth_type and kind of client_ca_file, in both versions of TLS. The toolkit
// of the Prometheus exporters admits and refuses the same clients, with alerts of TLS in the place of 403.

const [root, theirs] = await Promise.all([createAuthority('root'), createAuthority('theirs')]);
const intermediate = await root.issueAuthority('intermediate');
const client = { name: 'prometheus', usage: 'client' } as const;
const [server, leaf] = await Promise.all([
  root.issue({ name: 'exporter', sans: ['ip:127.0.0.1'] }),
  intermediate.issue(client),
]);

const CLIENTS: Readonly<Record<string, Identity | undefined>> = {
  none: undefined,
  'of the root': await root.issue(client),
  'of the intermediate': leaf,
  'of the intermediate, with that': { key: leaf.key, cert: `${leaf.cert}\n${intermediate.cert}` },
  'of another CA': await theirs.issue(client),
  'self-signed': await createSelfSigned('prometheus'),
  expired: await root.issue({ ...client, days: -1 }),
  'not yet valid': await root.issue({ ...client, days: 2, startDays: 1 }),
  'for servers': await root.issue({ name: 'exporter', usage: 'server' }),
};

const CA_FILES = {
  root: root.cert,
  intermediate: intermediate.cert,
  both: `${intermediate.cert}\n${root.cert}`,
} as const;
type CaFile = keyof typeof CA_FILES;

/** Why a certificate is refused where it is verified; undefined where it is accepted. */
const VERIFIED: Readonly<Record<string, Readonly<Partial<Record<CaFile, TlsRefusal>>>>> = {
  'of the root': { intermediate: 'unknown_ca' },
  'of the intermediate': { root: 'unknown_ca' },
  'of the intermediate, with that': {},
  'of another CA': all('unknown_ca'),
  'self-signed': all('unknown_ca'),
  expired: all('expired'),
  'not yet valid': all('expired'),
  'for servers': all('other'),
};

function all(reason: TlsRefusal): Readonly<Record<CaFile, TlsRefusal>> {
  return { root: reason, intermediate: reason, both: reason };
}

const TYPES: Readonly<Record<string, { readonly required?: true; readonly verified?: true }>> = {
  RequestClientCert: {},
  RequireClientCert: { required: true },
  RequireAnyClientCert: { required: true },
  VerifyClientCertIfGiven: { verified: true },
  RequireAndVerifyClientCert: { required: true, verified: true },
};

const STATUS_LINES: Readonly<Partial<Record<TlsRefusal, string>>> = {
  no_certificate: '403 certificate required',
  unknown_ca: '403 unknown certificate authority',
  expired: '403 certificate expired or not yet valid',
  other: '403 bad certificate',
};

function refusalOf(type: string, caFile: CaFile, kind: string): TlsRefusal | undefined {
  const { required, verified } = TYPES[type] ?? {};
  if (kind === 'none') return required && 'no_certificate';
  return verified && VERIFIED[kind]?.[caFile];
}

/** What the client sees. */
async function ask(orchard: Orchard, kind: string, version: 'TLSv1.2' | 'TLSv1.3') {
  const versions = { minVersion: version, maxVersion: version } as const;
  const options = { tls: { ca: root.cert, ...CLIENTS[kind], ...versions } };
  const { status, statusMessage } = await fetchPath(orchard.url, '/-/healthy', options);
  return `${status} ${statusMessage}`;
}

/** The counters of refused clients that are not 0. */
async function countersOf({ url }: Orchard): Promise<Readonly<Record<string, number>>> {
  const tls = { ca: root.cert, ...CLIENTS['of the intermediate, with that'] };
  const { text } = await fetchPath(url, '/metrics', { tls });
  const samples = parseExposition(text).filter(
    ({ name, value }) => name === 'crdb_exporter_web_tls_refused_total' && value > 0,
  );
  return Object.fromEntries(samples.map(({ labels, value }) => [labels['reason'], value]));
}

const CASES = Object.keys(TYPES).flatMap((type) =>
  (['root', 'intermediate', 'both'] as const).map((caFile) => [type, caFile] as const),
);

describe('client certificates', () => {
  test.each(CASES)('%s with %s as client_ca_file', async (type, caFile) => {
    const orchard = await startOrchard({
      webConfig: `tls_server_config: { cert_file: server.crt, key_file: server.key, client_auth_type: ${type}, client_ca_file: ca.crt }\n`,
      files: {
        'server.crt': server.cert,
        'server.key': server.key,
        'ca.crt': CA_FILES[caFile],
      },
    });
    const refused: TlsRefusal[] = [];
    const [found, expected]: [string[][], string[][]] = [[], []];
    for (const kind of Object.keys(CLIENTS)) {
      const reason = refusalOf(type, caFile, kind);
      for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
        found.push([kind, version, await ask(orchard, kind, version)]);
        expected.push([kind, version, (reason && STATUS_LINES[reason]) ?? '200 OK']);
        if (reason !== undefined) refused.push(reason);
      }
    }
    expect(found).toEqual(expected);
    const counts = TLS_REFUSALS.map((reason) => [
      reason,
      refused.filter((each) => each === reason).length,
    ]);
    expect(await countersOf(orchard)).toEqual(
      Object.fromEntries(counts.filter(([, count]) => count !== 0)),
    );
    const logged = orchard.log().matchAll(/level=warn .*client refused.*reason=(\w+)/g);
    expect(Array.from(logged, ([, reason = '']) => reason).toSorted()).toEqual(
      [...new Set<string>(refused)].toSorted(),
    );
  });
});
