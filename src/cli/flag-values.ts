import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../config/units.ts';

/** A duration as Prometheus writes them, in seconds. */
export function parseDurationFlag(text: string): number {
  const seconds = parseDuration(text);
  if (seconds !== undefined) return seconds;
  throw new InvalidArgumentError('It must be a duration like 5m, 1h30m or 500ms.');
}

/** A whole number from 1 on: ids, and how many of something. */
export function parsePositiveFlag(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 to 999999999.');
}
