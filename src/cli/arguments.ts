import { InvalidArgumentError } from 'commander';
import { parseDuration } from '#config';

/** Parser of the ids of things: whole numbers from 1. */
export function parseIds(expected: string): (text: string) => number {
  return (text) => {
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
    throw new InvalidArgumentError(expected);
  };
}

/** A duration as Prometheus writes them, in seconds. */
export function parseSeconds(text: string): number {
  const seconds = parseDuration(text);
  if (seconds !== undefined) return seconds;
  throw new InvalidArgumentError('It must be a duration like 5m, 1h30m or 500ms.');
}
