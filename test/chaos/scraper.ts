import { setTimeout as sleep } from 'node:timers/promises';
import { ASSISTANT_PASSWORD, SQL_MARKER } from '../../simulator/index.ts';
import { checkPlan, checkScrape } from './scrape-checks.ts';
import type { Setting } from './setting.ts';

export interface ScrapedText {
  readonly format: keyof typeof ACCEPT;
  readonly text: string;
}

const ACCEPT = {
  text: 'text/plain;version=0.0.4',
  openmetrics: 'application/openmetrics-text;version=1.0.0',
} as const;
const PAUSE_MS = 100;
/** Texts of the middle of the trouble are worth an independent reader. */
const KEPT_SCRAPES = [6, 11];
const CLIENT_ADDRESS = /\b10\.[19]\.\d+\.\d+/;

/** Scrapes without a pause worth mentioning and checks each answer, until told to stop. */
export class Scraper {
  readonly #setting: Setting;
  readonly #checked = new Set<unknown>();
  readonly kept: ScrapedText[] = [];
  scrapes = 0;
  /** True while a reload runs: then the old plan holds, or the new one. */
  isReloading = false;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  async run(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      await this.scrape();
      await sleep(PAUSE_MS * this.#setting.dimensions.slowness);
    }
  }

  async scrape(): Promise<ReturnType<typeof checkScrape>> {
    const { exporter, clocks, variants } = this.#setting;
    const format = this.scrapes % 2 === 0 ? 'text' : 'openmetrics';
    const askedAt = clocks.clock.monotonicMs();
    const plan = variants.plan;
    const isStable = !this.isReloading;
    const { status, text, headers } = await exporter.get('/metrics', {
      accept: ACCEPT[format],
      'accept-encoding': this.scrapes % 5 === 0 ? 'gzip' : 'identity',
    });
    if (status !== 200) throw new Error(`/metrics answered ${status}`);
    if (!headers.get('content-type')?.startsWith(ACCEPT[format].split(';')[0] ?? '')) {
      throw new Error(`${headers.get('content-type')} is not ${format}`);
    }
    this.scrapes += 1;
    if (KEPT_SCRAPES.includes(this.scrapes)) this.kept.push({ format, text });
    const { dimensions } = this.#setting;
    const witness = { ...this.#setting, ...dimensions, askedAt, checked: this.#checked };
    const scrape = checkScrape(text, witness);
    if (isStable && !this.isReloading && plan === variants.plan) checkPlan(scrape, plan);
    this.expectNoSecret('a scrape', text);
    return scrape;
  }

  /** Passwords, tokens, keys, SQL texts and addresses of clients are nowhere. */
  expectNoSecret(where: string, text: string): void {
    const { simulator, tokens } = this.#setting;
    const { password, cloudToken } = simulator;
    const secrets = [password, cloudToken, ASSISTANT_PASSWORD, SQL_MARKER, '/Table/', ...tokens];
    const found = secrets.find((secret) => text.includes(secret)) ?? CLIENT_ADDRESS.exec(text)?.[0];
    if (found === undefined) return;
    const at = text.indexOf(found);
    throw new Error(`${where} holds a secret: ${text.slice(Math.max(0, at - 100), at + 50)}`);
  }
}
