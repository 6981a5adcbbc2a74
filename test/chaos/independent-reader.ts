import { spawnSync } from 'node:child_process';
import type { ScrapedText } from './scraper.ts';

/** Reads a JSON list of texts and parses each in its format. */
const PROGRAM = `
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text
for scraped in json.load(sys.stdin):
    parse = openmetrics if scraped["format"] == "openmetrics" else text
    samples = sum(len(family.samples) for family in parse(scraped["text"]))
    if samples == 0:
        raise ValueError("no samples")
`;

/** What Python's prometheus_client has against these texts; undefined when it reads them all. */
export function readByPython(texts: readonly ScrapedText[]): string | undefined {
  const { status, stderr, error } = spawnSync('python3', ['-c', PROGRAM], {
    input: JSON.stringify(texts),
  });
  return status === 0 ? undefined : (error?.message ?? stderr.toString());
}
