import { formatDuration, formatTime, type Severity } from '#base';
import type { Status } from '../findings/status.ts';

/** Markup that is safe to send: every value from outside was escaped when it was inserted. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value that a template takes. */
export type Part = Html | string | number | undefined | false | readonly Part[];

/** Markup around values; a value that is not markup is escaped, undefined and false are dropped, and so is indentation. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const raw = strings.map((text) => text.replaceAll(/\n\s*/g, '\n'));
  return new Html(String.raw({ raw }, ...parts.map(render)));
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === undefined || part === false) return '';
  if (typeof part === 'object') return part.map(render).join('');
  return String(part).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Icons of states and levels, always beside a word: no meaning is by colour alone. */
const ICONS: Readonly<Record<string, string>> = {
  healthy: '✓',
  ok: '✓',
  live: '✓',
  info: 'i',
  waiting: '…',
  unknown: '?',
  warning: '!',
  critical: '✕',
  problems: '✕',
  failing: '✕',
};

export function icon(level: string): Html {
  return html`<span class="icon ${level}" aria-hidden="true">${ICONS[level] ?? '•'}</span>`;
}

/** A time as the duration since or until then, which the script keeps up to date. */
export function relativeTime(at: string, nowMs: number): Html {
  const seconds = Math.abs(nowMs - Date.parse(at)) / 1000;
  return html`<time datetime="${at}" title="${formatTime(at)}"
    >${formatDuration(Math.round(seconds))}</time
  >`;
}

/** A share as a bar beside its number. */
export function bar(ratio: number): Html {
  const width = Math.round(Math.min(1, Math.max(0, ratio)) * 100);
  return html`<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <rect width="${width}" height="6" />
  </svg>`;
}

/** Text with code between backquotes; a command has a button that copies it, which is hidden without the script. */
export function withCode(text: string): readonly Html[] {
  return text.split('`').map((part, index) => {
    if (index % 2 === 0) return html`${part}`;
    const isCommand = /(?:^| |\/)(?:crdb-exporter(?:\.cjs)?|cockroach) /.test(part);
    return html`<code>${part}</code>${
        isCommand &&
        html`<button type="button" class="copy" aria-label="copy ${part}">copy</button>`
      }`;
  });
}

/** Rows of a table; the rest is on /metrics and in /api/status. */
export const MAX_ROWS = 10;

/** A column: its title, the content of a cell, and the class of its cells. */
export type Column<T> = readonly [
  title: string,
  cell: (item: T) => Part,
  kind?: 'number' | 'name' | 'place' | 'words' | 'bars' | undefined,
];

/**
 * A table that scrolls sideways where it is too wide, and is a list on a phone; the first column names the row. `levelOf` is the
 * severity that a row is marked with.
 */
export function table<T>(
  label: string,
  items: readonly T[],
  columns: readonly (Column<T> | false)[],
  levelOf: (item: T) => Severity | undefined = () => undefined,
): Html {
  const shown = columns.filter((column) => column !== false);
  return html`<div class="scroll" tabindex="0" role="group" aria-label="${label}">
    <table>
      <thead>
        <tr>
          ${shown.map(([title, , kind]) => html`<th scope="col" class="${kind}">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${items.map((item) => {
          const level = levelOf(item);
          const mark = level && html`<span class="hidden">${level}: </span>`;
          return html`<tr${level && html` class="${level}"`}>
              ${shown.map(([title, cell, kind], index) =>
                index === 0
                  ? html`<th scope="row" class="${kind}">${mark}${cell(item)}</th>`
                  : html`<td data-title="${title}" class="${kind}">${cell(item)}</td>`,
              )}
            </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}

/** A figure of a table. */
export function known(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? 'not known' : format(value);
}

/**
 * URLs on every page, relative to it: a proxy may serve the exporter below any path. Those of assets have a query that changes
 * with the content.
 */
export interface PageLinks {
  /** From the page to `/`: empty, or `../`. */
  readonly root: string;
  readonly style: string;
  readonly script: string;
  readonly icon: string;
  readonly telemetryPath: string;
}

/** Which exporter made a page, and when. */
export type PageOrigin = Pick<Status, 'version' | 'startedAt' | 'at'>;

/** A page around its main content, with links to the other pages. */
export function frame(
  title: string,
  main: Html,
  { version, startedAt, at }: PageOrigin,
  { root, ...links }: PageLinks,
): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · crdb-exporter</title>
        <link rel="icon" href="${root}${links.icon}" type="image/svg+xml" />
        <link rel="stylesheet" href="${root}${links.style}" />
        <script src="${root}${links.script}" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <h1><a href="${root === '' ? './' : root}">crdb-exporter</a></h1>
          <p class="quiet">${version} · up ${relativeTime(startedAt, Date.parse(at))}</p>
          <nav aria-label="All pages">
            <a href="${root}${links.telemetryPath}">Metrics</a>
            <a href="${root}api/status">Status as JSON</a> <a href="${root}runbooks/">Runbooks</a>
            <a href="${root}config">Configuration</a>
            <a href="${root}sd/nodes">Discovery: nodes</a>
            <a href="${root}sd/clusters">Discovery: clusters</a>
            <a href="${root}-/healthy">Health</a>
            <a href="${root}-/ready">Readiness</a>
          </nav>
        </header>
        <main id="main">${main}</main>
        <footer>
          <p>
            As of <data id="at" value="${at}">${formatTime(at)}</data>. <a href="">Refresh</a>
            <span id="live" role="status"></span>
          </p>
        </footer>
      </body>
    </html> `.text;
}
