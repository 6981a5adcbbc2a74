import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ParsedSample } from '../../test/metrics/parse-exposition.ts';
import { serve, type TestServer } from '../../test/support/http-server.ts';
import type { LiveWorld } from './worlds.ts';

/** The time of the worlds, which runs faster than that of the machine. */
export interface WorldClock {
  /** When minute 0 was, in Unix seconds of the machine. */
  readonly startedAt: number;
  readonly factor: number;
}

export function minuteOf({ startedAt, factor }: WorldClock, atMs: number): number {
  return ((atMs / 1000 - startedAt) * factor) / 60;
}

/** Ages and intervals, which the scaled rules compare with scaled limits. */
const DURATION = /_(?:interval|behind|lag|(?<!record_)age)_seconds$/;
/** How often a minute the pages change: more often than they are scraped. */
const STEPS = 4;
const TIME = /timestamp_seconds$|^process_start_time_seconds$/;

/**
 * Serves the worlds: `/targets/JOB`, service discovery by HTTP, and `/metrics/INSTANCE`, what that exporter exposes now.
 * Times of the worlds become times of the machine.
 */
export function serveWorlds(worlds: readonly LiveWorld[], clock: WorldClock): Promise<TestServer> {
  const byJob = new Map(worlds.map((world) => [jobOf(world), world.clusters]));
  const exporters = [...byJob.values()].flat();
  /** The last page of each exporter. */
  const pages = new Map<string, Page>();
  return serve((request: IncomingMessage, response: ServerResponse) => {
    const [, kind, name = ''] = (request.url ?? '').split('/');
    const minute = Math.floor(minuteOf(clock, Date.now()) * STEPS) / STEPS;
    if (kind === 'targets') {
      const instances = (byJob.get(name) ?? []).flatMap((exposed) => exposed.targetsAt(minute));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(instances.map((one) => target(request.headers.host ?? '', one))));
      return;
    }
    const last = pages.get(name);
    const samples = (): readonly ParsedSample[] =>
      exporters.flatMap((exposed) => exposed.samplesAt(name, minute));
    const page = last?.minute === minute ? last : { minute, text: write(samples(), clock) };
    pages.set(name, page);
    response.statusCode = page.text === '' ? 503 : 200;
    response.end(page.text);
  });
}

interface Page {
  readonly minute: number;
  /** Empty when the exporter cannot be scraped. */
  readonly text: string;
}

/** Each world is a job: a pod that starts is the successor of one of its own world alone. */
export function jobOf({ clusters: [first] }: LiveWorld): string {
  return `crdb-exporter-${first?.cluster}`;
}

function target(host: string, instance: string): unknown {
  return { targets: [host], labels: { instance, __metrics_path__: `/metrics/${instance}` } };
}

function write(samples: readonly ParsedSample[], clock: WorldClock): string {
  return samples.map((sample) => lineOf(sample, clock)).join('');
}

function lineOf({ name, labels, value }: ParsedSample, clock: WorldClock): string {
  const texts = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`);
  return `${name}{${texts.join(',')}} ${scaled(name, value, clock)}\n`;
}

function scaled(name: string, value: number, { startedAt, factor }: WorldClock): number {
  if (TIME.test(name)) return startedAt + value / factor;
  return DURATION.test(name) ? value / factor : value;
}
