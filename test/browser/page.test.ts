import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasProgram } from '../support/programs.ts';
import { openBrowser } from './browser.ts';
import { openScene, type Scene, SCENE_NAMES, SCENES } from './scenes.ts';

const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
/** Of a page, however large its cluster is. */
const LARGEST_PAGE_BYTES = 100_000;
const HOSTILE_NAMES = [
  '<script>window.hacked=1</script>',
  '"><img src=x onerror="window.hacked=1">',
  "'--><svg onload=window.hacked=1>",
  '</title></head><body onload=window.hacked=1>',
  'javascript:window.hacked=1',
];

/** A browser on a busy machine takes its time. */
const PATIENT = { timeout: 120_000 };

describe.skipIf(!hasProgram('chromium'))('the status page in a browser', PATIENT, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  /** A page and what it complained of. */
  async function open(scene: Scene, options: BrowserContextOptions = {}, target = '/') {
    const context = await browser.newContext({ viewport: DESKTOP, ...options });
    const page = await context.newPage();
    const complaints: string[] = [];
    const requests: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('dialog', (dialog) => complaints.push(dialog.message()));
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(scene.exporter.url + target);
    return { page, complaints, requests };
  }

  describe.each(SCENE_NAMES)('%s', (name) => {
    let scene: Scene;
    beforeAll(async () => {
      scene = await openScene(SCENES[name]);
    }, 120_000);
    afterAll(() => scene[Symbol.asyncDispose]());

    test.each([
      ['light', DESKTOP],
      ['dark', PHONE],
    ] as const)('is accessible and fits in %s on %o', async (colorScheme, viewport) => {
      const { page, complaints, requests } = await open(scene, { colorScheme, viewport });
      await page.getByText('Live.').waitFor();
      const { violations } = await new AxeBuilder({ page }).analyze();
      const faults = violations.filter(({ impact }) => impact !== 'minor');
      expect(faults.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
      expect(await overflowOf(page)).toBe(0);
      expect(complaints).toEqual([]);
      for (const url of requests) expect(url.startsWith(scene.exporter.url)).toBe(true);
      await page.context().close();
    });

    test('is small, and complete without JavaScript', async () => {
      const { text } = await scene.exporter.get('/');
      expect(Buffer.byteLength(text)).toBeLessThan(LARGEST_PAGE_BYTES);
      const { page } = await open(scene, { javaScriptEnabled: false });
      expect(await page.locator('h2').textContent()).toMatch(/ (?:is|needs|has) /);
      expect(await page.locator('#collectors tbody tr').count()).toBeGreaterThan(3);
      await page.context().close();
    });
  });

  test('shows hostile names as text, and runs nothing of them', async () => {
    await using scene = await openScene({ intervalSeconds: 600, clusters: { demo: {} } });
    const world = scene.simulators.get('demo')?.world;
    for (const applicationName of HOSTILE_NAMES) {
      world?.openSession({
        nodeId: 1,
        username: applicationName,
        applicationName,
        state: 'idle_in_transaction',
        transactionAgeMs: 3_600_000,
      });
    }
    await using renewed = await openScene({ simulators: scene.simulators, intervalSeconds: 600 });
    const { page, complaints } = await open(renewed);
    await page.getByText('Live.').waitFor();
    const names = await page.locator('#sessions th.name').allTextContents();
    expect(names.map((name) => name.trim())).toEqual(expect.arrayContaining(HOSTILE_NAMES));
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test('follows the cluster without being loaded again, and keeps the focus', async () => {
    await using scene = await openScene({ intervalSeconds: 0.5 });
    const { page } = await open(scene);
    await page.getByText('Live.').waitFor();
    await page.evaluate('window.loadedOnce = true');
    await page.locator('#collectors .scroll').focus();
    scene.simulators.get('demo')?.world.killNode(9, 'dead');
    await page.locator('.findings', { hasText: 'Node 9 is dead' }).waitFor();
    expect(await page.title()).toContain('demo is in trouble');
    expect(await page.evaluate('window.loadedOnce')).toBe(true);
    expect(await page.locator('#collectors .scroll:focus').count()).toBe(1);
    await page.context().close();
  });

  test('says when the exporter no longer answers', async () => {
    await using scene = await openScene();
    const { page } = await open(scene);
    await page.getByText('Live.').waitFor();
    await scene.exporter.stop();
    await page.getByText('The exporter does not answer').waitFor();
    expect(await page.locator('#live').textContent()).toContain('gets older');
    await page.context().close();
  });

  test('can be used with the keyboard alone', async () => {
    await using scene = await openScene({ clusters: { east: {}, west: {} } });
    const { page } = await open(scene);
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toContain('east');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/?cluster=west');
    expect(await page.locator('[aria-current=page]').textContent()).toContain('west');
    await page.context().close();
  });

  test('/config follows the exporter as a page, although programs get JSON there', async () => {
    await using scene = await openScene({ intervalSeconds: 0.5 });
    const { page } = await open(scene, {}, '/config');
    const moment = page.locator('#at');
    const first = await moment.getAttribute('value');
    await expect.poll(() => moment.getAttribute('value')).not.toBe(first);
    expect(await page.title()).toBe('Configuration · crdb-exporter');
    await page.context().close();
  });

  test('/config is accessible, too, and shows no secret', async () => {
    await using scene = await openScene();
    const { page, complaints } = await open(scene, {}, '/config');
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.filter(({ impact }) => impact !== 'minor').map(({ id }) => id)).toEqual([]);
    expect(await page.locator('pre').textContent()).toContain('"password": "<secret>"');
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});

/** How far the page is wider than its window. */
async function overflowOf(page: Page): Promise<number> {
  const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  return Math.max(0, Number(wide));
}
