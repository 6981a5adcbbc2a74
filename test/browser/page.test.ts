import { AxeBuilder } from '@axe-core/playwright';
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  Page,
  ViewportSize,
} from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { openSimulator, runQueries } from '../collectors/sql/queries.ts';
import { hasProgram } from '../support/programs.ts';
import { openBrowser } from './browser.ts';
import { openScene, type Scene, SCENE_NAMES, SCENES } from './scenes.ts';

const DESKTOP = { width: 1280, height: 800 };
const LAPTOP = { width: 1024, height: 768 };
const TABLET = { width: 768, height: 1024 };
const PHONE = { width: 390, height: 844 };
/** For a cluster of any size. */
const MAX_PAGE_BYTES = 100_000;
const HOSTILE_NAMES = [
  '<script>window.hacked=1</script>',
  '"><img src=x onerror="window.hacked=1">',
  "'--><svg onload=window.hacked=1>",
  '</title></head><body onload=window.hacked=1>',
  'javascript:window.hacked=1',
];

/** The scenes that together show everything: in the dark they are enough. */
const WITH_EVERY_COLOUR: readonly string[] = ['incident', 'down', 'rejected'];
interface View {
  readonly colorScheme?: 'light' | 'dark';
  readonly viewport?: ViewportSize;
}

/** A browser is slow on a busy machine. */
const OPTIONS = { timeout: 600_000 };

describe.skipIf(!hasProgram('chromium'))('the status page in a browser', OPTIONS, () => {
  let browser: Browser;
  let shared: BrowserContext;
  /** Pages that are no longer used: a page that goes elsewhere keeps its process, whose start takes half a second of CPU. */
  const idle: Page[] = [];
  beforeAll(async () => {
    browser = await openBrowser();
    shared = await browser.newContext();
  });
  afterAll(() => browser.close());

  /** A page with its warnings, errors and requests. */
  async function open(
    scene: Pick<Scene, 'exporter'>,
    options: BrowserContextOptions & View = {},
    target = '/',
  ) {
    const { colorScheme = 'light', viewport = DESKTOP, ...apart } = options;
    const isShared = Object.keys(apart).length === 0;
    const context = isShared ? shared : await browser.newContext(apart);
    const page = (isShared ? idle.pop() : undefined) ?? (await context.newPage());
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    const errors: string[] = [];
    const requests: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) errors.push(message.text());
    });
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('dialog', (dialog) => errors.push(dialog.message()));
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(scene.exporter.url + target);
    return { page, errors, requests };
  }

  /** Ends the use of a page. */
  async function leave(page: Page): Promise<void> {
    if (page.context() !== shared) return page.close();
    page.removeAllListeners();
    await page.goto('about:blank');
    idle.push(page);
    return undefined;
  }

  /** What one scene shows, in one page and in others. */
  describe.each(SCENE_NAMES)('%s', (name) => {
    let scene: Scene;
    let shown: Awaited<ReturnType<typeof open>>;
    beforeAll(async () => {
      scene = await openScene(SCENES[name]);
      shown = await open(scene);
    }, 600_000);
    afterAll(async () => {
      await leave(shown.page);
      await scene[Symbol.asyncDispose]();
    });

    if (name === 'incident') {
      testFirstScreen(() => ({ scene, page: shown.page }));
      testCommands(() => scene);
      testRunbooks(() => scene);
    }
    if (name === 'rejected') testUnknown(() => shown.page);

    test.each([
      ['light', DESKTOP],
      ['dark', LAPTOP],
      ['dark', TABLET],
      ['dark', PHONE],
    ] as const)('is accessible and fits in %s on %o', async (colorScheme, viewport) => {
      const { page, errors, requests } = shown;
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      await page.getByText('Live.', { exact: true }).waitFor();
      const isAnalyzed =
        colorScheme === 'light' || (viewport === PHONE && WITH_EVERY_COLOUR.includes(name));
      expect(isAnalyzed ? await faultsOf(page) : []).toEqual([]);
      expect(await overflowOf(page)).toBe(0);
      const cut = { [PHONE.width]: CUT_OFF, [TABLET.width]: SQUEEZED }[viewport.width];
      expect(await page.evaluate(cut ?? SCROLLING)).toEqual([]);
      expect(errors).toEqual([]);
      for (const url of requests) expect(url.startsWith(scene.exporter.url)).toBe(true);
    });

    test('fits on paper', async () => {
      const { page } = shown;
      // About as wide as a sheet of A4.
      await page.setViewportSize(TABLET);
      await page.emulateMedia({ media: 'print' });
      expect(await page.evaluate(SCROLLING)).toEqual([]);
      await page.emulateMedia({ media: 'screen' });
    });

    test('is small', async () => {
      const { text } = await scene.exporter.get('/');
      expect(Buffer.byteLength(text)).toBeLessThan(MAX_PAGE_BYTES);
    });
  });

  function testFirstScreen(shown: () => { readonly scene: Scene; readonly page: Page }): void {
    async function textOf(selector: string): Promise<string> {
      const first = shown().page.locator(selector).first();
      const { y = 0, height = Infinity } = (await first.boundingBox()) ?? {};
      expect(y + height).toBeLessThan(DESKTOP.height);
      return (await first.innerText()).replaceAll(/\s+/g, ' ');
    }

    test('says what is wrong, since when, and what to do next', async () => {
      expect(await textOf('.headline')).toMatch(
        /demo has problems \d critical for at least \d+ s \(since \d{4}-.* UTC\), and \d+ warnings\./,
      );
      // The third scan confirms the gap.
      await expect
        .poll(() => textOf('.findings li'))
        .toMatch(
          /Ranges are missing that no node reports: .* decommission none of them: .* CrdbRangesLost fires after \d+ min Runbook for/,
        );
      const findings = await shown().page.locator('.findings').first().innerText();
      expect(findings).toMatch(/r\d+ of movr\.public\.users on node \d/);
    });

    test('is complete without JavaScript', async () => {
      const { page: plain } = await open(shown().scene, { javaScriptEnabled: false });
      expect(await plain.locator('h2').textContent()).toMatch(/ has /);
      expect(await plain.locator('#collectors tbody tr').count()).toBeGreaterThan(3);
      await leave(plain);
    });

    test('has the ranges that serve nothing before those that lack replicas', async () => {
      const rows = await shown().page.locator('#problem-ranges tbody tr').allInnerTexts();
      expect(rows[0]).toMatch(/^r7\s+unavailable\s/);
      expect(rows[1]).toMatch(/^r1\s+underreplicated\s/);
    });

    test('is followed by nodes with their liveness, and by panels with their age', async () => {
      const rows = await shown().page.locator('#nodes tbody tr').allInnerTexts();
      const texts = rows.map((row) => row.replaceAll(/\s+/g, ' '));
      expect(texts[0]).toMatch(
        /^warning: n7 . dead, decommissioning begun region=.* v25[^ ]*( -)+$/,
      );
      expect(texts.find((row) => row.startsWith('n1 '))).toMatch(/^n1 . live .* \d+ of \d+$/);
      const ages = await shown().page.locator('.panel > .age').allInnerTexts();
      expect(ages).toHaveLength(8);
      for (const age of ages) expect(age).toMatch(/^\d+ s old$/);
    });
  }

  function testCommands(scene: () => Scene): void {
    test('copies a command with one click; without the script it is text to select', async () => {
      const { page, errors } = await open(scene(), {
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      const button = page.getByRole('button', { name: 'copy crdb-exporter range' });
      await button.first().click();
      await page.getByText('copied').waitFor();
      const copied = await page.evaluate('navigator.clipboard.readText()');
      expect(copied).toMatch(/^crdb-exporter range \d+$/);
      expect(errors).toEqual([]);
      await leave(page);
      const { page: plain } = await open(scene(), { javaScriptEnabled: false });
      expect(await plain.getByText(String(copied)).first().isVisible()).toBe(true);
      expect(await plain.getByRole('button').count()).toBe(0);
      await leave(plain);
    });
  }

  function testRunbooks(scene: () => Scene): void {
    test.each([
      ['light', LAPTOP],
      ['dark', PHONE],
    ] as const)('runbooks are accessible and fit in %s on %o', async (colorScheme, viewport) => {
      const { page, errors } = await open(scene(), { colorScheme, viewport });
      await page.locator('a[href="runbooks/CrdbRangesUnavailable"]').first().click();
      await page.getByRole('heading', { name: 'CrdbRangesUnavailable' }).waitFor();
      for (const link of ['where', 'Runbooks', 'CrdbRangesLost']) {
        expect(await faultsOf(page)).toEqual([]);
        expect(await overflowOf(page)).toBe(0);
        expect(await page.evaluate(CUT_OFF)).toEqual([]);
        await page.getByRole('link', { name: link, exact: true }).first().click();
      }
      await page.getByRole('heading', { name: 'CrdbRangesLost' }).waitFor();
      expect(errors).toEqual([]);
      await leave(page);
    });
  }

  test('shows hostile names as text and runs no script in them', async () => {
    await using simulator = await startSimulator({ nodes: 3, ranges: 20, metricKeys: 'useful' });
    for (const applicationName of HOSTILE_NAMES) {
      simulator.world.openSession({
        nodeId: 1,
        username: applicationName,
        applicationName,
        state: 'idle_in_transaction',
        transactionAgeMs: 3_600_000,
      });
    }
    const simulators = new Map([['demo', simulator]]);
    await using scene = await openScene({ simulators, intervalSeconds: 600 });
    const { page, errors } = await open(scene);
    await page.getByText('Live.', { exact: true }).waitFor();
    const names = await page.locator('#sessions th.name').allTextContents();
    expect(names.map((name) => name.trim())).toEqual(expect.arrayContaining(HOSTILE_NAMES));
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(errors).toEqual([]);
    await leave(page);
  });

  test('shows the rows of queries as text, and they fit on a phone', async () => {
    const long = ['x', 'y z '].map((word) => word.repeat(128).slice(0, 128));
    const values = Array.from({ length: 6 }, (_, at) => `a_column_of_large_numbers_${at}`);
    const rows = [...HOSTILE_NAMES, ...long].map((text) => [text, ...values.map(() => 1e15)]);
    const columns = ['text', ...values].map((name, at) => {
      return [name, at === 0 ? 'STRING' : 'INT8'] as const;
    });
    const simulator = await openSimulator({
      sqlResults: [{ contains: 'FROM wide', columns, rows }],
    });
    const wide = { name: 'wide', help: 'Wide.', sql: 'SELECT * FROM wide', labels: ['text'] };
    const query = { ...wide, values: Object.fromEntries(values.map((name) => [name, 'gauge'])) };
    const exporter = await runQueries(simulator, [
      query,
      { ...query, name: 'x'.repeat(63), sql: 'SHOW x' },
    ]);
    await exporter.until((scrape) => scrape.all(`crdb_sql_wide_${values[0]}`).length > 0);
    for (const viewport of [DESKTOP, PHONE]) {
      const { page, errors } = await open({ exporter }, { viewport });
      await page.getByText('Live.', { exact: true }).waitFor();
      const names = await page.locator('#queries tbody th').allTextContents();
      expect(names).toEqual([...HOSTILE_NAMES, ...long]);
      expect(await page.evaluate('window.hacked')).toBeUndefined();
      expect(await overflowOf(page)).toBe(0);
      const cut = viewport === PHONE ? await page.evaluate(CUT_OFF) : [];
      expect(cut).toEqual([]);
      expect(await faultsOf(page)).toEqual([]);
      expect(errors).toEqual([]);
      await leave(page);
    }
  });

  test('updates without a reload and keeps the focus', async () => {
    await using scene = await openScene({ intervalSeconds: 0.5 });
    const { page } = await open(scene);
    await page.getByText('Live.', { exact: true }).waitFor();
    await page.evaluate('window.loadedOnce = true');
    await page.locator('#collectors .scroll').focus();
    scene.simulators.get('demo')?.world.killNode(9, 'dead');
    await page.locator('.findings', { hasText: 'Node 9 is dead' }).waitFor();
    expect(await page.title()).toMatch(/^demo: (?:warning|critical|outage) ·/);
    expect(await page.evaluate('window.loadedOnce')).toBe(true);
    expect(await page.locator('#collectors .scroll:focus').count()).toBe(1);
    await leave(page);
  });

  test('reports when the exporter stops responding', async () => {
    await using scene = await openScene({ intervalSeconds: 600 });
    const { page } = await open(scene);
    await page.getByText('Live.', { exact: true }).waitFor();
    await scene.exporter.stop();
    await page.getByText('The exporter does not respond').waitFor();
    expect(await page.locator('#live').textContent()).toContain('is out of date');
    await leave(page);
  });

  test('can be used with the keyboard alone', async () => {
    await using scene = await openScene({ clusters: { east: {}, west: {} }, intervalSeconds: 600 });
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
    await leave(page);
  });

  test('/config updates as a page, although programs get JSON there', async () => {
    await using scene = await openScene({ intervalSeconds: 0.5 });
    const { page } = await open(scene, {}, '/config');
    const time = page.locator('#at');
    const first = await time.getAttribute('value');
    await expect.poll(() => time.getAttribute('value')).not.toBe(first);
    expect(await page.title()).toBe('Configuration · crdb-exporter');
    await leave(page);
  });

  test('/config is accessible and shows no secret', async () => {
    await using scene = await openScene({ intervalSeconds: 600 });
    const { page, errors } = await open(scene, {}, '/config');
    expect(await faultsOf(page)).toEqual([]);
    expect(await page.locator('pre').textContent()).toContain('password: <secret>');
    expect(errors).toEqual([]);
    await leave(page);
  });
});

function testUnknown(shown: () => Page): void {
  test('of a cluster that it cannot see is grey, and has the remedy and no empty panel', async () => {
    const page = shown();
    expect(await page.locator('.headline.unknown').innerText()).toMatch(
      /demo is unknown\s+The exporter cannot see it, for/,
    );
    expect(await page.locator('.findings li').allInnerTexts()).toEqual([
      expect.stringContaining('User and password were refused'),
    ]);
    for (const line of await page.locator('.panel.line').all()) {
      expect((await line.boundingBox())?.height).toBeLessThan(50);
    }
    const missing = page.getByText('No current data: Nodes, Problem ranges, Safe to stop, Tables');
    expect(await missing.count()).toBe(1);
  });
}

/** The faults of a page for those who do not see it well, each with the elements that have it. */
async function faultsOf(page: Page): Promise<readonly unknown[]> {
  // In one page without frames of others: the usual mode carries all that it saw to a second page. Only violations are of use.
  const builder = new AxeBuilder({ page }).setLegacyMode();
  const { violations } = await builder.options({ resultTypes: ['violations'] }).analyze();
  return violations
    .filter(({ impact }) => impact !== 'minor')
    .map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}

/** Texts that are partly outside of the window or of an element that scrolls sideways. */
const CUT_OFF = `[...document.querySelectorAll('main :is(th, td, li, p, strong, h2, h3)')]
  .filter((one) => one.getBoundingClientRect().width > 2)
  .filter((one) => one.getBoundingClientRect().right > innerWidth || one.scrollWidth > one.clientWidth + 1)
  .filter((one) => getComputedStyle(one).display !== 'inline')
  .map((one) => one.textContent)`;

/** Texts of cells that have more lines than the longest name needs. */
const SQUEEZED = `[...document.querySelectorAll('th, td')]
  .filter((one) => one.getBoundingClientRect().height > 200)
  .map((one) => one.textContent)`;

/** Names of the tables that scroll sideways. */
const SCROLLING = `[...document.querySelectorAll('.scroll')]
  .filter((one) => one.scrollWidth > one.clientWidth)
  .map((one) => one.getAttribute('aria-label'))`;

/** By how much the page is wider than its window, px. */
async function overflowOf(page: Page): Promise<number> {
  const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  return Math.max(0, Number(wide));
}
