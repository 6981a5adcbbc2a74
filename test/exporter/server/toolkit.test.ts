import { hashSync } from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import { HASH, PAIR, readText } from '../../config/web-files.ts';
import { fetchPath, type RequestOptions } from '../routes/fetch-path.ts';
import { startOrchard } from '../routes/orchard.ts';

// The cases of the tests of the Prometheus exporter toolkit, numbered as there, with files of our own.

const TLS = `tls_server_config: { ${PAIR}`;

/** Files that the toolkit refuses (TestYAMLFiles, and the last three of TestServerBehaviour). */
const REFUSED: readonly (readonly [string, string, string])[] = [
  ['3', 'words without any structure', 'a text\nand another\n'],
  ['4', 'an unknown key', 'tls_server_config: { cert_filse: good.crt }'],
  ['5', 'an empty cert_file', 'tls_server_config: { cert_file: "", key_file: good.key }'],
  ['6', 'an empty cert', 'tls_server_config: { cert: "", key_file: good.key }'],
  ['7', 'an empty key_file', 'tls_server_config: { cert_file: good.crt, key_file: "" }'],
  ['8', 'an empty key', 'tls_server_config: { cert_file: good.crt, key: "" }'],
  ['9', 'both empty', 'tls_server_config: { cert_file: "", key_file: "", client_auth_type: x }'],
  ['10', 'no such certificate', 'tls_server_config: { cert_file: none, key_file: good.key }'],
  ['11', 'no such key', 'tls_server_config: { cert_file: good.crt, key_file: none }'],
  ['12', 'neither', 'tls_server_config: { cert_file: none, key_file: none }'],
  ['13', 'a client CA that is not used', `${TLS}, client_ca_file: ca.crt }`],
  ['14', 'no such client CA', `${TLS}, client_ca_file: none }`],
  ['15', 'a password that is no hash', `${TLS} }\nbasic_auth_users: { john: doe }`],
  ['16', 'an invented suite', `${TLS}, cipher_suites: [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA2048] }`],
  ['17', 'an invented curve', `${TLS}, curve_preferences: [CurveP257] }`],
  ['18', 'an invented version', `${TLS}, min_version: TLS111 }`],
  [
    'b16',
    'a wrong content type option',
    'http_server_config: { headers: { X-Content-Type-Options: x } }',
  ],
  ['b17', 'a wrong frame option', 'http_server_config: { headers: { X-Frame-Options: x } }'],
  ['b18', 'a header that cannot be set', 'http_server_config: { headers: { Content-Type: x } }'],
];

/** Files that the toolkit accepts. */
const ACCEPTED: readonly (readonly [string, string, string])[] = [
  ['2', 'nothing', ''],
  ['b4', 'a certificate', `${TLS}, client_auth_type: VerifyClientCertIfGiven }`],
  [
    'b8',
    'all suites of TLS 1.2',
    `${TLS}, cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256] }`,
  ],
  ['b11', 'the order of the client', `${TLS}, prefer_server_cipher_suites: false }`],
  ['b12', 'all curves', `${TLS}, curve_preferences: [CurveP256, CurveP384, CurveP521, X25519] }`],
  ['b15', 'no HTTP/2', `${TLS}, max_version: TLS12 }\nhttp_server_config: { http2: off }`],
  ['b24', 'no limit of the rate', 'rate_limit: { interval: 0, burst: 0 }'],
  ['b26', 'a limit of the rate', 'rate_limit: { interval: "1s", burst: 0 }'],
  ['u', 'a user of cost 18', `basic_auth_users: { bob: ${HASH.replace('$04$', '$18$')} }`],
];

describe('a file that the toolkit knows', () => {
  test.each(REFUSED)('%s: with %s is refused', async (_number, _what, yaml) => {
    expect((await readText(yaml)).problems).not.toBe('');
  });

  test.each(ACCEPTED)('%s: with %s is accepted', async (_number, _what, yaml) => {
    expect((await readText(yaml)).problems).toBe('');
  });
});

function as(credentials: string): RequestOptions {
  return { headers: { authorization: `Basic ${btoa(credentials)}` } };
}

describe('users', () => {
  // A comparison with the cost of the last one would take days.
  const webConfig = `basic_auth_users: { dave: ${hashSync('dave123', 4)}, carol: ${hashSync('carol123', 5)}, bob: ${HASH.replace('$04$', '$31$')} }\n`;

  test('are admitted with their passwords, beside one whose hash takes very long', async () => {
    const { url, log } = await startOrchard({ webConfig });
    const statusFor = async (options?: RequestOptions): Promise<number> =>
      (await fetchPath(url, '/', options)).status;
    const left = new AbortController();
    const slow = fetch(url, {
      headers: { authorization: `Basic ${btoa('bob:x')}` },
      signal: left.signal,
    });
    expect(await statusFor()).toBe(401);
    expect(await statusFor(as('dave:dave123'))).toBe(200);
    expect(await statusFor(as('carol:carol123'))).toBe(200);
    expect(await statusFor(as('dave:bad'))).toBe(401);
    expect(await statusFor(as('nonexistent:nonexistent'))).toBe(401);
    left.abort();
    await expect(slow).rejects.toThrow('abort');
    expect(log()).not.toContain('internal error');
  });
});
