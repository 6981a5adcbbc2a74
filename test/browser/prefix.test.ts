import { expect, test } from 'vitest';
import { startPolledOrchard } from '../exporter/routes/orchard.ts';
import { serveBelow } from '../support/prefix-proxy.ts';
import { hasProgram } from '../support/programs.ts';
import { openBrowser } from './browser.ts';

test.skipIf(!hasProgram('chromium'))(
  'a page below a path prefix is styled and live',
  { timeout: 600_000 },
  async () => {
    const { url } = await startPolledOrchard();
    await using proxy = await serveBelow('/crdb', url);
    await using browser = await openBrowser();
    const page = await browser.newPage();
    const failed: string[] = [];
    page.on('response', (response) => {
      if (response.status() >= 400) failed.push(response.url());
    });
    for (const path of ['', '?cluster=orchard', 'config']) {
      await page.goto(proxy.url + path);
      await page.getByText('Live.', { exact: true }).waitFor();
      await page.locator('html.scripted').waitFor();
    }
    expect(failed).toEqual([]);
  },
);
