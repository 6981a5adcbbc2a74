import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseSans } from '../../../src/exporter/server/tls.ts';
import { createAuthority, type Identity } from '../../support/certificates.ts';
import { fetchPath } from '../routes/fetch-path.ts';
import { startOrchard } from '../routes/orchard.ts';

const COMPARED = ['DNS', 'email', 'URI', 'IP Address'];
const TYPES = [...COMPARED, 'DirName', 'othername', 'Registered ID', 'X400Name', 'EdiPartyName'];

/** What the values of names are made of, so that they often look like names themselves. */
const value = fc
  .array(
    fc.oneof(
      fc.constantFrom('DNS:', ', ', ',', '"', '\\', 'prometheus', '\\u002c', '\0', '\n'),
      fc.string({ maxLength: 3, unit: 'binary' }),
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(''));

/** Node quotes what holds a comma, a quote, a backslash or anything outside of printable ASCII. */
function writeValue(text: string): string {
  const isPlain = /^[\x20-\x7e]*$/.test(text) && !/[",\\']/.test(text);
  return isPlain ? text : JSON.stringify(text).replaceAll(',', String.raw`\u002c`);
}

describe('the names of a certificate', () => {
  test('are read as Node writes them, but for those in quotes', () => {
    const text = String.raw`DNS:a.b, URI:"spiffe://x\u002cDNS:evil", IP Address:::1, email:c@d`;
    expect(parseSans(text)).toEqual(['a.b', '::1', 'c@d']);
    expect(parseSans('')).toEqual([]);
  });

  test('are exactly the plain values of the compared types, whatever any name contains', () => {
    const names = fc.array(fc.record({ type: fc.constantFrom(...TYPES), value }), { maxLength: 5 });
    fc.assert(
      fc.property(names, (list) => {
        const text = list.map((name) => `${name.type}:${writeValue(name.value)}`).join(', ');
        const compared = list.filter((name) => COMPARED.includes(name.type) && name.value !== '');
        const plain = compared
          .map((name) => name.value)
          .filter((name) => writeValue(name) === name);
        expect(parseSans(text)).toEqual(plain);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('client_allowed_sans', () => {
  const authority = createAuthority();

  /** Asks with certificates of these names where `prometheus` is allowed: the statuses. */
  async function statusesFor(type: string, sans: readonly (readonly string[])[]) {
    const ours = await authority;
    const server = await ours.issue({ name: 'exporter', sans: ['ip:127.0.0.1'] });
    const { url } = await startOrchard({
      webConfig: `tls_server_config: { cert_file: server.crt, key_file: server.key, client_auth_type: ${type}, client_ca_file: ca.crt, client_allowed_sans: [prometheus] }\n`,
      files: { 'server.crt': server.cert, 'server.key': server.key, 'ca.crt': ours.cert },
    });
    const statusOf = async (identity: Identity): Promise<number> =>
      (await fetchPath(url, '/-/healthy', { tls: { ca: ours.cert, ...identity } })).status;
    const identities = sans.map((names) =>
      ours.issue({ name: 'client', usage: 'client', sans: names }),
    );
    const statuses: number[] = [];
    for (const identity of identities) statuses.push(await statusOf(await identity));
    return statuses;
  }

  test('refuses names of other types that contain an allowed one', async () => {
    const statuses = await statusesFor('RequireAndVerifyClientCert', [
      ['dn:CN=DNS:prometheus'],
      ['upn:DNS:prometheus'],
      ['upn:a, DNS:prometheus'],
      ['url:spiffe://x/DNS:prometheus'],
      ['dn:CN=x', 'upn:y', 'dns:prometheus'],
    ]);
    expect(statuses).toEqual([403, 403, 403, 403, 200]);
  });

  test.each(['RequireAndVerifyClientCert', 'RequestClientCert', 'RequireAnyClientCert'])(
    'refuses names that cannot be parsed, and continues, with %s',
    async (type) => {
      const broken = ['dn:O=DNS:,CN=x', 'dn:O=IP Address:,CN=x', 'dns:"', 'dns:,', 'dns:'];
      const sans = [...broken.map((name) => [name]), ['dns:prometheus']];
      expect(await statusesFor(type, sans)).toEqual([...broken.map(() => 403), 200]);
    },
  );
});
