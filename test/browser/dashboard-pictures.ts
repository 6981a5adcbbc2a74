import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { watchCluster } from '../dashboards/cluster-panels.ts';

const PREVIEW = path.join(import.meta.dirname, '../../dashboards/preview/preview.ts');
const BOARDS = ['overview', 'nodes', 'ranges', 'load', 'sql'];
/** The incident five times slower: two nodes are down for almost six minutes, longer than the alerts wait. */
const TIME_SCALE = 0.2;
const MINUTES = 15;
/** It fires last. */
const IS_AT_ITS_HEIGHT = 'ALERTS{alertname="CrdbRangesUnavailable",alertstate="firing"}';

/** Takes a picture of the preview of dashboards while alerts fire: data of Prometheus, drawn without Grafana. */
export async function takeDashboards(browser: Browser, folder: string): Promise<void> {
  await using watching = await watchCluster({
    size: { nodes: 9, ranges: 600, sessions: 120, scenario: 'incident', timeScale: TIME_SCALE },
    intervalSeconds: 10,
    seconds: 0,
  });
  while ((await watching.prometheus.query(IS_AT_ITS_HEIGHT)).length === 0) await sleep(2000);
  await watching.untilFilled();
  const pages = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-preview-'));
  const asked = [watching.prometheus.url, 'sim', pages, String(MINUTES)];
  execFileSync(process.execPath, [PREVIEW, ...asked], { stdio: 'inherit' });
  for (const board of BOARDS) {
    const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
    await page.goto(`file://${path.join(pages, `crdb-${board}.html`)}`);
    await page.screenshot({ path: path.join(folder, `dashboard-${board}.png`) });
    await page.close();
  }
  rmSync(pages, { recursive: true });
}
