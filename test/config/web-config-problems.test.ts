import path from 'node:path';
import { expect, test } from 'vitest';
import { formatIssues } from '../../src/config/issues.ts';
import { readWebConfig } from '../../src/config/web-config.ts';
import { makeFolder } from './folder.ts';
import { HASH, PAIR, readText } from './web-files.ts';

/** Files with one problem each. */
const BAD = [
  'tls_config: {}',
  'tls_server_config: { cert_flie: good.crt, key_file: good.key, cert_file: good.crt }',
  'tls_server_config: []',
  'tls_server_config: { key_file: good.key }',
  'tls_server_config: { cert_file: good.crt }',
  'tls_server_config: { cert_file: nowhere.crt, key_file: good.key }',
  'tls_server_config: { cert_file: empty.pem, key_file: good.key }',
  'tls_server_config: { cert_file: broken.crt, key_file: good.key }',
  'tls_server_config: { cert_file: good.crt, key_file: good.crt }',
  'tls_server_config: { cert_file: good.crt, key_file: encrypted.key }',
  'tls_server_config: { cert_file: good.crt, key_file: other.key }',
  `tls_server_config: { ${PAIR}, client_auth_type: Required }`,
  `tls_server_config: { ${PAIR}, client_ca_file: ca.crt }`,
  `tls_server_config: { ${PAIR}, client_allowed_sans: [a] }`,
  `tls_server_config: { ${PAIR}, client_ca_file: good.key, client_auth_type: RequireAndVerifyClientCert }`,
  `tls_server_config:\n  cert_file: good.crt\n  key_file: good.key\n  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file:`,
  `tls_server_config: { ${PAIR}, client_auth_type: RequireAnyClientCert, client_ca: }`,
  `tls_server_config: { ${PAIR}, client_auth_type: }`,
  `tls_server_config: { ${PAIR}, client_auth_type: RequireAnyClientCert, client_allowed_sans: }`,
  `tls_server_config: { ${PAIR}, min_version: TLS14 }`,
  `tls_server_config: { ${PAIR}, min_version: TLS13, max_version: TLS12 }`,
  `tls_server_config: { ${PAIR}, cipher_suites: [TLS_RSA_WITH_RC4_128_SHA] }`,
  `tls_server_config: { ${PAIR}, cipher_suites: [TLS_AES_128_GCM_SHA256], max_version: TLS12 }`,
  `tls_server_config: { ${PAIR}, curve_preferences: [P256] }`,
  `tls_server_config: { ${PAIR}, prefer_server_cipher_suites: 1 }`,
  'http_server_config: { headers: { x-frame-options: deny } }',
  'http_server_config: { headers: { X-Frame-Options: allow } }',
  String.raw`http_server_config: { headers: { X-XSS-Protection: "a\nb" } }`,
  'basic_auth_users: { alice: hunter2 }',
  `basic_auth_users: { alice: "alice:$2y$10$${'a'.repeat(53)}" }`,
  'basic_auth_users:',
  `basic_auth_users: { alice: ${HASH.replace('$04$', '$32$')} }`,
  'basic_auth_users: alice:hunter2',
  `basic_auth_users: { "al:ice": "${HASH}" }`,
  'rate_limit: { interval: 5, burst: 1 }',
  'rate_limit: { interval: 1.s }',
  'rate_limit: { interval: -1s }',
  'http_server_config: { http2: disabled }',
  'tls_server_config: { client_allowed_sans: [a] }',
  'rate_limit: { interval: 1s, burst: -1 }',
  'basic_auth_users: {',
  'basic_auth_users: {}\nbasic_auth_users: {}',
  'basic_auth_users: {}',
  '[]',
];

test('each problem is reported with its place and remedy, never with a password', async () => {
  const problems = await Promise.all(BAD.map(async (yaml) => (await readText(yaml)).problems));
  expect(problems.join('\n')).not.toContain('hunter2');
  expect(`\n${problems.join('\n')}\n`).toMatchInlineSnapshot(`
    "
    web.yml:1:1: tls_config: unknown key "tls_config"; expected tls_server_config, http_server_config, basic_auth_users, rate_limit
    web.yml:1:22: tls_server_config.cert_flie: unknown key "cert_flie"; did you mean "cert_file"?
    web.yml:1:20: tls_server_config: a list is not a map: expected cert_file, cert, key_file, key, client_ca_file, client_ca, client_auth_type, client_allowed_sans, min_version, max_version, cipher_suites, prefer_server_cipher_suites, curve_preferences
    web.yml:1:20: tls_server_config: a certificate is missing: set cert_file or cert
    web.yml:1:20: tls_server_config: a private key is missing: set key_file or key
    web.yml:1:33: tls_server_config.cert_file: cannot read the file nowhere.crt: there is no such file
    web.yml:1:33: tls_server_config.cert_file: the file empty.pem holds no certificate in PEM form
    web.yml:1:33: tls_server_config.cert_file: the file broken.crt holds a certificate that cannot be read (number 1)
    web.yml:1:53: tls_server_config.key_file: the file good.crt holds no private key in PEM form
    web.yml:1:53: tls_server_config.key_file: the file encrypted.key holds a key that needs a pass phrase: decrypt it with \`openssl pkey\`
    web.yml:1:53: tls_server_config.key_file: the file other.key holds a key that does not belong to the certificate in the file good.crt: give both of one pair
    web.yml:1:81: tls_server_config.client_auth_type: "Required" is not one of NoClientCert, RequestClientCert, RequireAnyClientCert, RequireClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert
    web.yml:1:79: tls_server_config.client_ca_file: a client CA, but no client certificate is requested: set client_auth_type to RequireAndVerifyClientCert
    web.yml:1:84: tls_server_config.client_allowed_sans: names, but no client certificate is requested: set client_auth_type to RequireAndVerifyClientCert
    web.yml:1:79: tls_server_config.client_ca_file: the file good.key holds no certificate in PEM form
    web.yml:5:18: tls_server_config.client_ca_file: nothing is set: give the key a value or remove it
    web.yml:1:114: tls_server_config.client_ca: nothing is set: give the key a value or remove it
    web.yml:1:81: tls_server_config.client_auth_type: nothing is set: give the key a value or remove it
    web.yml:1:124: tls_server_config.client_allowed_sans: nothing is set: give the key a value or remove it
    web.yml:1:76: tls_server_config.min_version: "TLS14" is not one of TLS10, TLS11, TLS12, TLS13; did you mean "TLS10"?
    web.yml:1:76: tls_server_config.min_version: min_version is above max_version: no version is left
    web.yml:1:79: tls_server_config.cipher_suites[0]: "TLS_RSA_WITH_RC4_128_SHA" is not one of TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA
    web.yml:1:78: tls_server_config.cipher_suites: no suite for max_version: name one of TLS 1.2
    web.yml:1:83: tls_server_config.curve_preferences[0]: "P256" is not one of CurveP256, CurveP384, CurveP521, X25519
    web.yml:1:92: tls_server_config.prefer_server_cipher_suites: 1 is neither true nor false
    web.yml:1:34: http_server_config.headers.x-frame-options: unknown key "x-frame-options"; did you mean "X-Frame-Options"?
    web.yml:1:51: http_server_config.headers.X-Frame-Options: is not a value of this header: write deny or sameorigin
    web.yml:1:52: http_server_config.headers.X-XSS-Protection: is not the value of a header: write one line of text
    web.yml:1:28: basic_auth_users.alice: the value is not a bcrypt hash: make one with \`htpasswd -nBC 10 ""\` and remove the colon
    web.yml:1:28: basic_auth_users.alice: the value is not a bcrypt hash: make one with \`htpasswd -nBC 10 ""\` and remove the colon
    web.yml:1:18: basic_auth_users: lists no users: write each as \`name: hash\`, or remove the key
    web.yml:1:28: basic_auth_users.alice: the value is not a bcrypt hash: make one with \`htpasswd -nBC 10 ""\` and remove the colon
    web.yml:1:19: basic_auth_users: lists no users: write each as \`name: hash\`, or remove the key
    web.yml:1:31: basic_auth_users.al:ice: a name with a colon cannot log in: remove it
    web.yml:1:25: rate_limit.interval: 5 is not an interval: write it with units, as 30s, 1.5s or 100ms, or 0 for no limit
    web.yml:1:25: rate_limit.interval: "1.s" is not an interval: write it with units, as 30s, 1.5s or 100ms, or 0 for no limit
    web.yml:1:25: rate_limit.interval: "-1s" is not an interval: write it with units, as 30s, 1.5s or 100ms, or 0 for no limit
    web.yml:1:30: http_server_config.http2: "disabled" is neither true nor false
    web.yml:1:20: tls_server_config: a certificate is missing: set cert_file or cert
    web.yml:1:20: tls_server_config: a private key is missing: set key_file or key
    web.yml:1:43: tls_server_config.client_allowed_sans: names, but no client certificate is requested: set client_auth_type to RequireAndVerifyClientCert
    web.yml:1:36: rate_limit.burst: -1 is too small: at least 0
    web.yml:1:20: not valid YAML: Flow map in block collection must be sufficiently indented and end with a }
    web.yml:2:1: not valid YAML: the key "basic_auth_users" is set twice: remove one
    web.yml:1:19: basic_auth_users: lists no users: write each as \`name: hash\`, or remove the key
    web.yml:1:1: expected keys and values such as \`tls_server_config:\` at the top
    "
  `);
});

test('a file that is not there is a problem', async () => {
  const file = path.join(await makeFolder(), 'web.yml');
  const { problems } = await readWebConfig(file);
  expect(formatIssues(problems)).toBe(
    `${file}: cannot read the web config file: there is no such file`,
  );
});

test('several problems are reported at once', async () => {
  const { problems } = await readText('rate_limits: {}\nbasic_auth_users: { a: b, c: d }\n');
  expect(problems.split('\n')).toHaveLength(3);
});

/** Files that work, but should be changed. */
const DOUBTFUL = [
  'tls_server_config: { cert_file: expired.crt, key_file: expired.key }',
  `tls_server_config: { ${PAIR}, client_auth_type: VerifyClientCertIfGiven }`,
  `tls_server_config: { ${PAIR}, client_auth_type: RequireAnyClientCert, client_allowed_sans: [a] }`,
  'rate_limit: { interval: 1s }',
  'tls_server_config: { min_version: TLS13, cipher_suites: [TLS_AES_128_GCM_SHA256] }',
  `basic_auth_users: { alice: ${HASH}, bob: ${HASH.replace('$04$', '$18$')} }`,
];

test('what works but should be changed is warned of', async () => {
  const found = await Promise.all(DOUBTFUL.map((yaml) => readText(yaml)));
  expect(found.map(({ problems }) => problems).join('')).toBe('');
  const text = found
    .map(({ warnings }) => warnings.replace(/\d{4}-\d\d-\d\d \S+ UTC/, 'TIME'))
    .join('\n');
  expect(`\n${text}\n`).toMatchInlineSnapshot(`
    "
    web.yml:1:33: tls_server_config.cert_file: the certificate expired at TIME: renew it
    web.yml:1:81: tls_server_config.client_auth_type: without client_ca_file, certificates of every public CA are accepted: set it
    web.yml:1:124: tls_server_config.client_allowed_sans: certificates are not verified, so a client can claim any name: set client_auth_type to RequireAndVerifyClientCert
    web.yml:1:13: rate_limit: burst 0 rejects every request: set burst
    web.yml:1:20: tls_server_config: without a certificate TLS stays off, and this has no effect: set cert_file
    web.yml:1:95: basic_auth_users.bob: a first login takes 256 times as long as with cost 10, and a scrape may not wait for it: make one with \`htpasswd -nBC 10 ""\` and remove the colon
    "
  `);
});
