import { constants } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { ServerTls } from '../../src/config/server-tls.ts';
import { FILES, PAIR, readText } from './web-files.ts';

/** What becomes of a pair of certificate and key with these keys beside them. */
async function readTls(more: string): Promise<ServerTls> {
  const { config, problems } = await readText(`tls_server_config: { ${PAIR}, ${more} }`);
  expect(problems).toBe('');
  if (config.tls === undefined) throw new Error('no TLS');
  return config.tls;
}

/** The settings of connections, without the pair itself. */
async function settingsOf(more: string): Promise<object> {
  const { cert, key, ...others } = (await readTls(more)).context();
  expect([cert, key]).toEqual([
    `${FILES['good.crt']}\n`,
    expect.stringMatching(/^-----BEGIN PRIVATE KEY/),
  ]);
  return others;
}

const USUAL = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3', honorCipherOrder: true };
const NEWEST = 'TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256';

describe('words of Go are those of OpenSSL:', () => {
  test.each([
    ['min_version: TLS12', USUAL],
    ['min_version: TLS13', { ...USUAL, minVersion: 'TLSv1.3' }],
    ['min_version: TLS11', USUAL],
    ['min_version: TLS10', USUAL],
    ['min_version: TLS12, max_version: TLS12', { ...USUAL, maxVersion: 'TLSv1.2' }],
    ['prefer_server_cipher_suites: false', { ...USUAL, honorCipherOrder: false }],
    ['curve_preferences: [X25519, CurveP256]', { ...USUAL, ecdhCurve: 'X25519:P-256' }],
    [`cipher_suites: [${NEWEST}]`, { ...USUAL, minVersion: 'TLSv1.3' }],
  ])('%s', async (more, settings) => {
    expect(await settingsOf(more)).toEqual(settings);
  });

  test.each(['ECDSA', 'RSA'])('suites of %s', async (kind) => {
    const suites = [
      ['AES_128_GCM_SHA256', 'AES128-GCM-SHA256'],
      ['AES_256_GCM_SHA384', 'AES256-GCM-SHA384'],
      ['CHACHA20_POLY1305_SHA256', 'CHACHA20-POLY1305'],
      ['AES_128_CBC_SHA', 'AES128-SHA'],
      ['AES_256_CBC_SHA', 'AES256-SHA'],
    ];
    const words = suites.map(([word]) => `TLS_ECDHE_${kind}_WITH_${word}`).join(', ');
    const ciphers = suites.map(([, name]) => `ECDHE-${kind}-${name}`).join(':');
    expect(await settingsOf(`cipher_suites: [${words}]`)).toEqual({ ...USUAL, ciphers });
  });
});

describe('the certificate of a client', () => {
  test.each([
    ['NoClientCert', false, false, false],
    ['RequestClientCert', true, false, false],
    ['RequireAnyClientCert', true, true, false],
    ['RequireClientCert', true, true, false],
    ['VerifyClientCertIfGiven', true, false, true],
    ['RequireAndVerifyClientCert', true, true, true],
  ])('with %s is requested: %s, required: %s, verified: %s', async (word, ...rules) => {
    const [requested, required, verified] = rules;
    const { context, notAfterMs, ...client } = await readTls(`client_auth_type: ${word}`);
    expect(client).toEqual({
      clientAuth: { requested, required, verified },
      clientCas: undefined,
      allowedSans: [],
    });
    expect(context().secureOptions).toBe(requested ? constants.SSL_OP_NO_TICKET : undefined);
    expect(notAfterMs).toBeGreaterThan(Date.now());
  });
});
