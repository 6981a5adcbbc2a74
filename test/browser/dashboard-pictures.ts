import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { watchCluster } from '../dashboards/cluster-panels.ts';

const PREVIEW = path.join(import.meta.dirname, '../../dashboards/preview/preview.ts');
const BOARDS = ['overview', 'nodes', 'ranges', 'load', 'sql'];
/** Two nodes are down at the end. */
const MINUTES = 2;

/** Takes a picture of the preview of dashboards: data of Prometheus, drawn without Grafana. */
export async function takeDashboards(browser: Browser, folder: string): Promise<void> {
  await using watching = await watchCluster({
    size: { nodes: 9, ranges: 600, sessions: 120, scenario: 'incident' },
    intervalSeconds: 5,
    seconds: 60 * MINUTES,
  });
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
