import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { buildConfigSchema } from '../../tools/docs/config-schema.ts';
import { expectGolden } from '../support/golden.ts';
import { loadText, problemsOf } from './loading.ts';

const API = "urls: ['https://a:8080']";
const withApi = (more: string, urls = API): string =>
  `clusters: [{ name: a, cluster_api: { ${urls}${more} } }]\n`;
const withPart = (more: string): string => `${withApi('')}${more}\n`;
const withQuery = (more: string): string =>
  withPart(`collectors: { sql: { queries: [{ name: a, help: b, sql: SELECT 1, ${more} }] } }`);

describe('the committed schema', () => {
  test('is generated from that of the loader', async () => {
    const written = `${JSON.stringify(buildConfigSchema(), undefined, 2)}\n`;
    await expectGolden(written, 'config/exporter.schema.json');
  });

  const isValid = new Ajv({ strict: false }).compile(
    JSON.parse(JSON.stringify(buildConfigSchema())),
  );
  test.each([
    ['no API', 'clusters: [{ name: a }]'],
    ['a user without a password', withApi(', username: a')],
    ['a password without a user', withApi(', password_file: /a')],
    ['a token beside a user', withApi(', username: a, password_file: /a, token_file: /b')],
    ['two passwords', withApi(', username: a, password_file: /a, password_env: B')],
    ['two tokens', withApi(', token_file: /a, token_env: B')],
    ['a certificate without its key', withApi(', tls: { cert_file: /a }')],
    ['a key without its certificate', withApi(', tls: { key_file: /a }')],
    ['a server name with a port', withApi(', tls: { server_name: "a:8080" }')],
    ['a URL twice', withApi('', "urls: ['https://a', 'https://a']")],
    ['URLs with and without TLS', withApi('', "urls: ['https://a', 'http://b']")],
    ['a URL with a space', withApi('', "urls: ['https://a b']")],
    ['the Cloud without a token', 'clusters: [{ name: a, cloud_api: { cluster_id: b } }]'],
    ['a link without a scheme', withPart('links: { runbook_url: wiki }')],
    ['an interval of nothing', withPart('collectors: { nodes: { interval: 0s } }')],
    ['a query without columns', withQuery('values: {}')],
  ])('refuses %s, as the loader does', async (_what, yaml) => {
    expect(isValid(parse(yaml))).toBe(false);
    expect(await problemsOf(loadText(yaml))).not.toEqual([]);
  });

  test.each([
    [withApi(', username: a, password_env: B')],
    [withApi(', token_env: B')],
    [withApi(', tls: { server_name: "2001:db8::1" }')],
    [withApi('', "urls: ['http://a:8080', 'http://[::1]:8080/path']")],
    [withPart("links: { runbook_url: '', dashboard_url: 'https://grafana.example.com/a@b' }")],
    [withPart('collectors: { nodes: { interval: 1m30s } }')],
    [withQuery('values: { a: gauge }')],
  ])('accepts %s, as the loader does', async (yaml) => {
    expect([isValid(parse(yaml)), isValid.errors]).toEqual([true, null]);
    await loadText(yaml, { env: { B: 'secret' } });
  });
});
