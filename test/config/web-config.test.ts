import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { readWebConfig } from '../../src/config/web-config.ts';
import { run } from '../metrics/programs.ts';
import { hasProgram } from '../support/programs.ts';
import { makeFolder } from './folder.ts';
import { FILES, HASH, PAIR, readText } from './web-files.ts';

const EXAMPLE = path.join(import.meta.dirname, '../../config/web-config.example.yml');

/** Whether the server chooses the suite, with this word in the file. */
async function orderOf(word: string): Promise<boolean | undefined> {
  const { problems, config } = await readText(
    `tls_server_config: { ${PAIR}, prefer_server_cipher_suites: ${word} }\nhttp_server_config: { http2: ${word} }`,
  );
  expect(problems).toBe('');
  return config.tls?.context().honorCipherOrder;
}

describe('a web config file', () => {
  test('may be empty: then every client has access, in plain text', async () => {
    for (const text of ['', '# nothing\n', '{}', 'tls_server_config:\nrate_limit:\n']) {
      const { config, problems, warnings } = await readText(text);
      expect([problems, warnings]).toEqual(['', '']);
      expect(config.tls).toBeUndefined();
      expect(config.users.size).toBe(0);
    }
  });

  test('with every key that the format has is understood', async () => {
    const { config, problems, warnings, files } = await readText(`
tls_server_config:
  cert_file: good.crt
  key_file: good.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  client_allowed_sans: [a.example, 10.0.0.1]
  min_version: TLS10
  max_version: TLS13
  cipher_suites: [TLS_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA]
  prefer_server_cipher_suites: false
  curve_preferences: [CurveP256, CurveP384, CurveP521, X25519]
http_server_config:
  http2: false
  headers: { X-Frame-Options: DENY, Strict-Transport-Security: max-age=1 }
basic_auth_users: { alice: ${HASH}, bob: "${HASH.replace('2b', '2y')}" }
rate_limit: { interval: 1m30s, burst: 5 }
`);
    expect([problems, warnings]).toEqual(['', '']);
    expect(config.tls).toMatchObject({
      clientAuth: { requested: true, required: true, verified: true },
      allowedSans: ['a.example', '10.0.0.1'],
    });
    expect(config.tls?.context()).toMatchObject({
      ca: String(new X509Certificate(FILES['ca.crt'])),
      minVersion: 'TLSv1.2',
      maxVersion: 'TLSv1.3',
      ciphers:
        'ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-SHA:ECDHE-RSA-AES256-SHA:ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA',
      honorCipherOrder: false,
      ecdhCurve: 'P-256:P-384:P-521:X25519',
    });
    expect(config.headers).toEqual({
      'X-Frame-Options': 'DENY',
      'Strict-Transport-Security': 'max-age=1',
    });
    expect([...config.users.keys()]).toEqual(['alice', 'bob']);
    expect(config.rateLimit).toEqual({ intervalSeconds: 90, burst: 5 });
    expect(files).toEqual(['web.yml', 'good.crt', 'good.key', 'ca.crt']);
  });

  test.each([
    ['0', 0],
    ['"0"', 0],
    ['0s', 0],
    ['1.5s', 1.5],
    ['100ms', 0.1],
    ['250us', 0.00025],
    ['1µs', 0.000001],
    ['1h1m0.5s', 3660.5],
    ['1m30s', 90],
    ['1d', 86_400],
  ])('may have the interval %s, as Go or Prometheus writes it', async (written, seconds) => {
    const { config, problems } = await readText(`rate_limit: { interval: ${written}, burst: 2 }`);
    expect(problems).toBe('');
    expect(config.rateLimit?.intervalSeconds ?? 0).toBeCloseTo(seconds, 9);
  });

  test('may have the booleans of YAML 1.1, which other exporters read', async () => {
    for (const word of ['on', 'Yes', 'y', 'true', 'ON']) expect(await orderOf(word)).toBe(true);
    for (const word of ['off', 'No', 'n', 'false', 'OFF']) expect(await orderOf(word)).toBe(false);
  });

  test('prefers a file to what is written in it', async () => {
    const { problems, config } = await readText(
      `tls_server_config: { ${PAIR}, cert: nonsense, key: nonsense }`,
    );
    expect(problems).toBe('');
    expect(config.tls?.context().cert).toBe(String(new X509Certificate(FILES['good.crt'])));
  });
});

describe('the example', () => {
  test('is valid', async () => {
    const { problems, warnings, config } = await readWebConfig(await placeExample());
    expect([...problems, ...warnings]).toEqual([]);
    expect(config.rateLimit).toEqual({ intervalSeconds: 0.1, burst: 20 });
  });

  describe.skipIf(!hasProgram('promtool'))('promtool', () => {
    test('accepts it, but for the keys that an older one does not know', async () => {
      const file = await placeExample((text) =>
        text.replace(/^rate_limit:\n(?: .*\n)+/m, '').replace(/^ *client_allowed_sans: .*$/m, ''),
      );
      expect(() => run('promtool', ['check', 'web-config', file], '')).not.toThrow();
    });

    test.skipIf(!knowsNewerKeys())('accepts its newer keys too', async () => {
      const file = await placeExample();
      expect(() => run('promtool', ['check', 'web-config', file], '')).not.toThrow();
    });
  });
});

/** Prometheus 2.42 knows neither rate_limit nor client_allowed_sans; newer ones do. */
function knowsNewerKeys(): boolean {
  const { stderr } = spawnSync('promtool', ['check', 'web-config', EXAMPLE], { encoding: 'utf8' });
  return !/(?:rate_limit|client_allowed_sans) not found/.test(stderr);
}

async function placeExample(change = (text: string) => text): Promise<string> {
  const folder = await makeFolder({
    'exporter.crt': FILES['good.crt'],
    'exporter.key': FILES['good.key'],
    'client-ca.crt': FILES['ca.crt'],
    'web.yml': change(await readFile(EXAMPLE, 'utf8')),
  });
  return path.join(folder, 'web.yml');
}
