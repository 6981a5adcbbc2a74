import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatIssues } from '../../src/config/issues.ts';
import { readWebConfig } from '../../src/config/web-config.ts';
import { makeFolder } from './folder.ts';
import { HASH, PAIR, readText } from './web-files.ts';

describe('problems are reported with their places and remedies', () => {
  test.each([
    [
      'tls_config: {}',
      'web.yml:1:1: tls_config: unknown key "tls_config"; expected tls_server_config, http_server_config, basic_auth_users, rate_limit',
    ],
    [
      'tls_server_config: { cert_flie: good.crt, key_file: good.key, cert_file: good.crt }',
      'web.yml:1:22: tls_server_config.cert_flie: unknown key "cert_flie"; did you mean "cert_file"?',
    ],
    [
      'tls_server_config: []',
      /^web\.yml:1:20: tls_server_config: a list is not a map: expected cert_file, /,
    ],
    [
      'tls_server_config: { key_file: good.key }',
      'web.yml:1:20: tls_server_config: a certificate is missing: set cert_file or cert',
    ],
    [
      'tls_server_config: { cert_file: good.crt }',
      'web.yml:1:20: tls_server_config: a private key is missing: set key_file or key',
    ],
    [
      'tls_server_config: { cert_file: nowhere.crt, key_file: good.key }',
      'web.yml:1:33: tls_server_config.cert_file: cannot read the file nowhere.crt: there is no such file',
    ],
    [
      'tls_server_config: { cert_file: empty.pem, key_file: good.key }',
      'web.yml:1:33: tls_server_config.cert_file: the file empty.pem holds no certificate in PEM form',
    ],
    [
      'tls_server_config: { cert_file: broken.crt, key_file: good.key }',
      'web.yml:1:33: tls_server_config.cert_file: the file broken.crt holds a certificate that cannot be read (number 1)',
    ],
    [
      'tls_server_config: { cert_file: good.crt, key_file: good.crt }',
      'web.yml:1:53: tls_server_config.key_file: the file good.crt holds no private key in PEM form',
    ],
    [
      'tls_server_config: { cert_file: good.crt, key_file: encrypted.key }',
      'web.yml:1:53: tls_server_config.key_file: the file encrypted.key holds a key that needs a pass phrase: decrypt it with `openssl pkey`',
    ],
    [
      'tls_server_config: { cert_file: good.crt, key_file: other.key }',
      'web.yml:1:53: tls_server_config.key_file: the file other.key holds a key that does not belong to the certificate in the file good.crt: give both of one pair',
    ],
    [
      `tls_server_config: { ${PAIR}, client_auth_type: Required }`,
      /^web\.yml:1:\d+: tls_server_config\.client_auth_type: "Required" is not one of NoClientCert, RequestClientCert, /,
    ],
    [
      `tls_server_config: { ${PAIR}, client_ca_file: ca.crt }`,
      /client_ca_file: a client CA, but no client certificate is requested: set client_auth_type to RequireAndVerifyClientCert$/,
    ],
    [
      `tls_server_config: { ${PAIR}, client_allowed_sans: [a] }`,
      /client_allowed_sans: names, but no client certificate is requested: set client_auth_type to RequireAndVerifyClientCert$/,
    ],
    [
      `tls_server_config: { ${PAIR}, client_ca_file: good.key, client_auth_type: RequireAndVerifyClientCert }`,
      /client_ca_file: the file good\.key holds no certificate in PEM form$/,
    ],
    [
      `tls_server_config:\n  cert_file: good.crt\n  key_file: good.key\n  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file:`,
      'web.yml:5:18: tls_server_config.client_ca_file: nothing is set: give the key a value or remove it',
    ],
    [
      `tls_server_config: { ${PAIR}, client_auth_type: RequireAnyClientCert, client_ca: }`,
      /client_ca: nothing is set: give the key a value or remove it$/,
    ],
    [
      `tls_server_config: { ${PAIR}, client_auth_type: }`,
      /client_auth_type: nothing is set: give the key a value or remove it$/,
    ],
    [
      `tls_server_config: { ${PAIR}, client_auth_type: RequireAnyClientCert, client_allowed_sans: }`,
      /client_allowed_sans: nothing is set: give the key a value or remove it$/,
    ],
    [
      `tls_server_config: { ${PAIR}, min_version: TLS14 }`,
      /min_version: "TLS14" is not one of TLS10, TLS11, TLS12, TLS13; did you mean "TLS1\d"\?$/,
    ],
    [
      `tls_server_config: { ${PAIR}, min_version: TLS13, max_version: TLS12 }`,
      /min_version: min_version is above max_version: no version is left$/,
    ],
    [
      `tls_server_config: { ${PAIR}, cipher_suites: [TLS_RSA_WITH_RC4_128_SHA] }`,
      /cipher_suites\[0\]: "TLS_RSA_WITH_RC4_128_SHA" is not one of TLS_AES_128_GCM_SHA256, /,
    ],
    [
      `tls_server_config: { ${PAIR}, cipher_suites: [TLS_AES_128_GCM_SHA256], max_version: TLS12 }`,
      /cipher_suites: no suite for max_version: name one of TLS 1\.2$/,
    ],
    [
      `tls_server_config: { ${PAIR}, curve_preferences: [P256] }`,
      /curve_preferences\[0\]: "P256" is not one of CurveP256, CurveP384, CurveP521, X25519/,
    ],
    [
      `tls_server_config: { ${PAIR}, prefer_server_cipher_suites: 1 }`,
      /prefer_server_cipher_suites: 1 is neither true nor false$/,
    ],
    [
      'http_server_config: { headers: { x-frame-options: deny } }',
      /headers\.x-frame-options: unknown key "x-frame-options"; did you mean "X-Frame-Options"\?$/,
    ],
    [
      'http_server_config: { headers: { X-Frame-Options: allow } }',
      /X-Frame-Options: is not a value of this header: write deny or sameorigin$/,
    ],
    [
      String.raw`http_server_config: { headers: { X-XSS-Protection: "a\nb" } }`,
      /X-XSS-Protection: is not the value of a header: write one line of text$/,
    ],
    [
      'basic_auth_users: { alice: hunter2 }',
      'web.yml:1:28: basic_auth_users.alice: the value is not a bcrypt hash: make one with `htpasswd -nBC 10 ""` and remove the colon',
    ],
    [
      `basic_auth_users: { alice: "alice:$2y$10$${'a'.repeat(53)}" }`,
      /basic_auth_users\.alice: the value is not a bcrypt hash: /,
    ],
    [
      'basic_auth_users:',
      'web.yml:1:18: basic_auth_users: lists no users: write each as `name: hash`, or remove the key',
    ],
    [
      `basic_auth_users: { alice: ${HASH.replace('$04$', '$16$')} }`,
      'web.yml:1:28: basic_auth_users.alice: the value has bcrypt cost 16; at most 15 is accepted: make one with `htpasswd -nBC 10 ""` and remove the colon',
    ],
    [
      'basic_auth_users: alice:hunter2',
      'web.yml:1:19: basic_auth_users: lists no users: write each as `name: hash`',
    ],
    [
      `basic_auth_users: { "al:ice": "${HASH}" }`,
      'web.yml:1:31: basic_auth_users.al:ice: a name with a colon cannot log in: remove it',
    ],
    [
      'rate_limit: { interval: 5, burst: 1 }',
      'web.yml:1:25: rate_limit.interval: 5 is not a duration: write it with units, as 30s, 1m30s or 500ms',
    ],
    [
      'rate_limit: { interval: 1s, burst: -1 }',
      'web.yml:1:36: rate_limit.burst: -1 is too small: at least 0',
    ],
    ['basic_auth_users: {', /^web\.yml:\d+:\d+: not valid YAML: /],
    [
      'basic_auth_users: {}\nbasic_auth_users: {}',
      'web.yml:2:1: not valid YAML: the key "basic_auth_users" is set twice: remove one',
    ],
    ['basic_auth_users: {}', /basic_auth_users: lists no users: write each as/],
    ['[]', /expected keys and values/],
  ])('%s', async (yaml, message) => {
    const { problems } = await readText(yaml);
    expect(problems.split('\n')).toHaveLength(1);
    expect(problems).toMatch(message);
    expect(problems).not.toContain('hunter2');
  });

  test('a file that is not there', async () => {
    const file = path.join(await makeFolder(), 'web.yml');
    const { problems } = await readWebConfig(file);
    expect(formatIssues(problems)).toBe(
      `${file}: cannot read the web config file: there is no such file`,
    );
  });

  test('several things at once', async () => {
    const { problems } = await readText('rate_limits: {}\nbasic_auth_users: { a: b, c: d }\n');
    expect(problems.split('\n')).toHaveLength(3);
  });
});

describe('warnings', () => {
  test.each([
    [
      'tls_server_config: { cert_file: expired.crt, key_file: expired.key }',
      /cert_file: the certificate expired at \d{4}-.*: renew it$/,
    ],
    [
      `tls_server_config: { ${PAIR}, client_auth_type: VerifyClientCertIfGiven }`,
      /client_auth_type: without client_ca_file, certificates of every public CA are accepted: set it$/,
    ],
    [
      `tls_server_config: { ${PAIR}, client_auth_type: RequireAnyClientCert, client_allowed_sans: [a] }`,
      /client_allowed_sans: certificates are not verified, so a client can claim any name: /,
    ],
    ['rate_limit: { interval: 1s }', /rate_limit: burst 0 rejects every request: set burst$/],
  ])('%s', async (yaml, message) => {
    const { problems, warnings } = await readText(yaml);
    expect(problems).toBe('');
    expect(warnings.split('\n')).toHaveLength(1);
    expect(warnings).toMatch(message);
  });
});
