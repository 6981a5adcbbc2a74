import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { parseExposition } from '../metrics/parse-exposition.ts';
import { run } from '../metrics/programs.ts';
import { hasProgram } from '../support/programs.ts';
import { ask } from './ask.ts';
import { startPolledOrchard } from './orchard.ts';

const OPENMETRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
const TEXT = 'text/plain; version=0.0.4; charset=utf-8';
/** What Prometheus 3 asks with. */
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
  test('is the text format 0.0.4 for who asks for nothing else', async () => {
    const { url } = await startPolledOrchard();
    for (const accept of [undefined, '*/*', 'text/html', 'text/plain;version=0.0.4']) {
      const answer = await ask(url, '/metrics', accept ? { headers: { accept } } : {});
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
    const text = await ask(url);
    const open = await ask(url, '/metrics', { headers: { accept: PROMETHEUS } });
    expect(open.headers['content-type']).toBe(OPENMETRICS);
    expect(open.text).toContain('# TYPE crdb_pears counter\n');
    expect(open.text.endsWith('\n# EOF\n')).toBe(true);
    expect(seriesOf(open.text)).toEqual(seriesOf(text.text));
    expect(seriesOf(text.text).length).toBeGreaterThan(400);
  });

  test('is packed for who accepts gzip, and the same when unpacked', async () => {
    const { url } = await startPolledOrchard();
    for (const accept of ['text/plain', OPENMETRICS]) {
      const headers = { accept, 'accept-encoding': 'gzip' };
      const packed = await ask(url, '/metrics', { headers });
      const plain = await ask(url, '/metrics', { headers: { accept } });
      expect(packed.headers['content-encoding']).toBe('gzip');
      expect(packed.headers['content-length']).toBe(String(packed.body.length));
      expect(packed.body.length).toBeLessThan(plain.body.length / 4);
      expect(seriesOf(gunzipSync(packed.body).toString())).toEqual(seriesOf(plain.text));
    }
  });

  test('answers HEAD with the headers of GET and no body', async () => {
    const { url } = await startPolledOrchard();
    const answer = await ask(url, '/metrics?collect[]=pears', { method: 'HEAD' });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe(TEXT);
    expect(Number(answer.headers['content-length'])).toBeGreaterThan(100);
    expect(answer.body.length).toBe(0);
  });

  test('gives the families that name[] names, by the name of the family or of a sample', async () => {
    const { url } = await startPolledOrchard();
    const { text } = await ask(url, '/metrics?name[]=crdb_pears_total&name[]=crdb_up&name[]=other');
    expect(new Set(parseExposition(text).map(({ name }) => name))).toEqual(
      new Set(['crdb_pears_total', 'crdb_up']),
    );
    const none = await ask(url, '/metrics?name[]=other');
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
  ])('chooses by %s the data and the outcomes of %j', async (query, chosen) => {
    const { url } = await startPolledOrchard();
    const samples = parseExposition((await ask(url, `/metrics?${query}`)).text);
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

  test('refuses a collector that does not exist, without repeating what was asked', async () => {
    const { url } = await startPolledOrchard();
    for (const key of ['collect[]', 'exclude[]']) {
      const answer = await ask(url, `/metrics?${key}=<script>alert(1)</script>`);
      expect(answer.status).toBe(400);
      expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
      expect(answer.text).toContain('there are apples, pears');
      expect(answer.text).not.toContain('script');
    }
  });

  test('moves to another path with --web.telemetry-path', async () => {
    const { url } = await startPolledOrchard({ flags: { 'web.telemetry-path': '/prom/data' } });
    expect((await ask(url, '/prom/data')).status).toBe(200);
    expect((await ask(url, '/metrics')).status).toBe(404);
    expect((await ask(url, '/')).text).toContain('href="/prom/data"');
  });
});

describe.skipIf(!hasProgram('promtool'))('promtool', () => {
  test('finds nothing to complain of in /metrics', async () => {
    const { url } = await startPolledOrchard();
    const { text } = await ask(url, '/metrics?exclude[]=apples&exclude[]=pears');
    expect(run('promtool', ['check', 'metrics'], text).toString()).toBe('');
  });
});
