import { html, type Html } from './html.ts';
import { sayDuration } from '../words.ts';

/** A sign beside its word: nothing is said by colour alone. */
const MARKS: Readonly<Record<string, string>> = {
  well: '✓',
  good: '✓',
  live: '✓',
  notice: 'i',
  waiting: '…',
  unknown: '?',
  warning: '!',
  trouble: '✕',
  failing: '✕',
};

export function mark(level: string): Html {
  return html`<span class="mark ${level}" aria-hidden="true">${MARKS[level] ?? '•'}</span>`;
}

/** A moment as its age; the script keeps the age up to date. */
export function age(at: string, nowMs: number): Html {
  const seconds = Math.max(0, (nowMs - Date.parse(at)) / 1000);
  return html`<time datetime="${at}" title="${sayMoment(at)}"
    >${sayDuration(Math.round(seconds))}</time
  >`;
}

/** A moment to come, as the time until then. */
export function wait(at: string, nowMs: number): Html {
  const seconds = Math.max(0, (Date.parse(at) - nowMs) / 1000);
  return html`<time datetime="${at}" title="${sayMoment(at)}"
    >${sayDuration(Math.round(seconds))}</time
  >`;
}

/** `2026-11-21 14:02:11 UTC`. */
export function sayMoment(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}

/** A share of a whole as a bar; the number stands beside it. */
export function bar(ratio: number): Html {
  const width = Math.round(Math.min(1, Math.max(0, ratio)) * 100);
  return html`<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <rect width="${width}" height="6" />
  </svg>`;
}

/** Text in which `code` stands between backquotes. */
export function withCode(text: string): readonly Html[] {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}
