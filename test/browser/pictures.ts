// `npm run docs:pictures [-- SCENE …]`: takes the screenshots of the status page and of the preview of dashboards for docs/.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openBrowser } from './browser.ts';
import { takeDashboards } from './dashboard-pictures.ts';
import { openScene, type SceneName, SCENES } from './scenes.ts';

const FOLDER = path.join(import.meta.dirname, '..', '..', 'docs', 'pictures');
/** Long enough for some polls. */
const POLLS_MS = 15_000;

interface Picture {
  readonly file: string;
  readonly colorScheme: 'light' | 'dark';
  readonly viewport: { readonly width: number; readonly height: number };
  /** The whole page instead of the part in the window. */
  readonly fullPage?: boolean;
}

const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

const PICTURES: Readonly<Partial<Record<SceneName, readonly Picture[]>>> = {
  calm: [
    { file: 'status-calm', colorScheme: 'light', viewport: DESKTOP },
    { file: 'status-calm-dark', colorScheme: 'dark', viewport: DESKTOP },
  ],
  incident: [
    { file: 'status-incident', colorScheme: 'light', viewport: DESKTOP },
    { file: 'status-incident-full', colorScheme: 'light', viewport: DESKTOP, fullPage: true },
    { file: 'status-incident-dark', colorScheme: 'dark', viewport: DESKTOP },
    { file: 'status-phone', colorScheme: 'light', viewport: PHONE },
    { file: 'status-phone-dark', colorScheme: 'dark', viewport: PHONE, fullPage: true },
  ],
  down: [{ file: 'status-down', colorScheme: 'light', viewport: DESKTOP }],
  rejected: [
    { file: 'status-rejected', colorScheme: 'light', viewport: DESKTOP },
    { file: 'status-rejected-phone', colorScheme: 'dark', viewport: PHONE },
  ],
  'two clusters': [{ file: 'status-clusters', colorScheme: 'dark', viewport: DESKTOP }],
  '300 nodes': [{ file: 'status-300-nodes', colorScheme: 'light', viewport: DESKTOP }],
};

const wanted = process.argv.slice(2);
mkdirSync(FOLDER, { recursive: true });
const browser = await openBrowser();
for (const [name, options] of Object.entries(SCENES)) {
  const pictures = Object.entries(PICTURES).find(([scene]) => scene === name)?.[1] ?? [];
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  await using scene = await openScene({
    ...options,
    intervalSeconds: name === '300 nodes' ? 15 : 5,
  });
  await sleep(POLLS_MS);
  for (const { file, colorScheme, viewport, fullPage = false } of pictures) {
    const page = await browser.newPage({ colorScheme, viewport });
    await page.goto(scene.exporter.url);
    await page.getByText('Live.', { exact: true }).waitFor();
    await page.screenshot({ path: path.join(FOLDER, `${file}.png`), fullPage });
    await page.close();
  }
}
if (wanted.length === 0 || wanted.includes('dashboards')) await takeDashboards(browser, FOLDER);
await browser.close();
