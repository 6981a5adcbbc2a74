import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { parseExposition } from '../../metrics/parse-exposition.ts';
import { fetchPath } from './fetch-path.ts';
import { startPolledOrchard } from './orchard.ts';

const OPENMETRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
const TEXT = 'text/plain; version=0.0.4; charset=utf-8';
/** The Accept header of Prometheus 3. */
const PROMETHEUS =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1';

/** Names and labels of the samples; of those whose values stand still, the values too. */
function seriesOf(text: string): string[] {
  return parseExposition(text)
    .filter(({ name }) => !name.startsWith('nodejs_gc_') && !name.startsWith('nodejs_eventloop_'))
    .map(({ name, labels, value }) => {
      const moves = /^(process|nodejs)_/.test(name);
      return `${name}${JSON.stringify(labels)}${moves ? '' : value}`;
    });
}

describe('/metrics', () => {
  test('is the text format 0.0.4 by default', async () => {
    const { url } = await startPolledOrchard();
    for (const accept of [undefined, '*/*', 'text/html', 'text/plain;version=0.0.4']) {
      const answer = await fetchPath(url, '/metrics', accept ? { headers: { accept } } : {});
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toBe(TEXT);
      expect(answer.headers['content-length']).toBe(String(answer.body.length));
      expect(answer.headers['content-encoding']).toBeUndefined();
      expect(answer.headers['vary']).toBe('Accept, Accept-Encoding');
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
      expect(answer.text).toContain('# TYPE crdb_pears_total counter\n');
    }
  });

  test('is OpenMetrics 1.0 for Prometheus, with the same series and values', async () => {
    const { url } = await startPolledOrchard();
    const text = await fetchPath(url);
    const open = await fetchPath(url, '/metrics', { headers: { accept: PROMETHEUS } });
    expect(open.headers['content-type']).toBe(OPENMETRICS);
    expect(open.text).toContain('# TYPE crdb_pears counter\n');
    expect(open.text.endsWith('\n# EOF\n')).toBe(true);
    expect(seriesOf(open.text)).toEqual(seriesOf(text.text));
    expect(seriesOf(text.text).length).toBeGreaterThan(400);
  });

  test('is compressed when gzip is accepted, with the same content', async () => {
    const { url } = await startPolledOrchard();
    for (const accept of ['text/plain', OPENMETRICS]) {
      const headers = { accept, 'accept-encoding': 'gzip' };
      const packed = await fetchPath(url, '/metrics', { headers });
      const plain = await fetchPath(url, '/metrics', { headers: { accept } });
      expect(packed.headers['content-encoding']).toBe('gzip');
      expect(packed.headers['content-length']).toBe(String(packed.body.length));
      expect(packed.body.length).toBeLessThan(plain.body.length / 4);
      expect(seriesOf(gunzipSync(packed.body).toString())).toEqual(seriesOf(plain.text));
    }
  });

  test('name[] selects families by the name of the family or of a sample', async () => {
    const { url } = await startPolledOrchard();
    const { text } = await fetchPath(
      url,
      '/metrics?name[]=crdb_pears_total&name[]=crdb_up&name[]=other',
    );
    expect(new Set(parseExposition(text).map(({ name }) => name))).toEqual(
      new Set(['crdb_pears_total', 'crdb_up']),
    );
    const none = await fetchPath(url, '/metrics?name[]=other');
    expect(none.status).toBe(200);
    expect(none.text).toBe('');
  });

  test.each([
    ['collect[]=pears', ['pears']],
    ['exclude[]=apples', ['pears']],
    ['collect[]=apples&collect[]=pears&exclude[]=pears', ['apples']],
    ['collect%5B%5D=pears', ['pears']],
    ['exclude[]=apples&exclude[]=pears', []],
    ['', ['apples', 'pears']],
  ])('%s selects the data and outcomes of %j', async (query, chosen) => {
    const { url } = await startPolledOrchard();
    const samples = parseExposition((await fetchPath(url, `/metrics?${query}`)).text);
    const names = new Set(samples.map(({ name }) => name));
    for (const room of ['apples', 'pears']) {
      const isThere = chosen.includes(room);
      expect([...names].some((name) => name.startsWith(`crdb_${room}`))).toBe(isThere);
      const ofRoom = samples.filter(({ labels }) => labels['collector'] === room);
      expect(ofRoom.length > 0).toBe(isThere);
      expect(ofRoom.some(({ name }) => name === 'crdb_exporter_polls_total')).toBe(isThere);
    }
    for (const always of ['crdb_up', 'crdb_exporter_build_info', 'process_start_time_seconds']) {
      expect(names).toContain(always);
    }
  });

  test('refuses an unknown collector, without repeating its name', async () => {
    const { url } = await startPolledOrchard();
    for (const key of ['collect[]', 'exclude[]']) {
      const answer = await fetchPath(url, `/metrics?${key}=<script>alert(1)</script>`);
      expect(answer.status).toBe(400);
      expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
      expect(answer.text).toContain('known collectors: apples, pears');
      expect(answer.text).not.toContain('script');
    }
  });

  test('moves to another path with --web.telemetry-path', async () => {
    const { url } = await startPolledOrchard({ flags: { 'web.telemetry-path': '/prom/data' } });
    expect((await fetchPath(url, '/prom/data')).status).toBe(200);
    expect((await fetchPath(url, '/metrics')).status).toBe(404);
    expect((await fetchPath(url, '/')).text).toContain('href="prom/data"');
  });
});
