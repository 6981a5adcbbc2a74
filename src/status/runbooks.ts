import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { ROOT } from '#base';
import { type Route, sendPage, sendText } from '#exporter';
import { frame, Html, html, type PageLinks, type PageOrigin } from './page/html.ts';

const FOLDER = path.join(ROOT, 'docs/runbooks');
/** The name of the list of all runbooks. */
const LIST = 'README';
/** A page beside the folder that the runbooks need. */
const WHERE = 'run-commands';

/**
 * `/runbooks/`, the list, and `/runbooks/NAME`, with or without `.md`: the shipped runbooks as pages. Throws when they are
 * missing.
 */
export function createRunbookRoutes(origin: () => PageOrigin, links: PageLinks): readonly Route[] {
  const pages = new Map([
    ...readdirSync(FOLDER).map((file) => [runbookOf(file), path.join(FOLDER, file)] as const),
    [WHERE, path.join(FOLDER, '..', `${WHERE}.md`)],
  ]);
  const handle: Route['handle'] = async (response) => {
    const name = runbookOf(lastStep(response.req)) || LIST;
    const file = pages.get(name);
    if (file === undefined) {
      sendText(response, 404, 'no such runbook; the list is at /runbooks/\n');
      return;
    }
    const content = await renderMarkdown(readFileSync(file, 'utf8'), pages);
    const main = html`<article class="panel runbook">${content}</article>`;
    const title = name === LIST ? 'Runbooks' : name;
    sendPage(response, Buffer.from(frame(title, main, origin(), { ...links, root: '../' })));
  };
  return [
    { path: '/runbooks/', handle },
    { path: '/runbooks/:name', handle },
  ];
}

/** `CrdbNodeDead` of `CrdbNodeDead.md`. */
function runbookOf(file: string): string {
  return file.replace(/\.md$/, '');
}

function lastStep({ url = '' }: IncomingMessage): string {
  return /([^/?]*)(?:\?|$)/.exec(url)?.[1] ?? '';
}

/**
 * A Markdown text as markup below the title of the page. Markup in the text is shown as text, and a link that leads to none of the
 * pages and to no other site is left out: nobody has the repository around the text.
 */
async function renderMarkdown(text: string, pages: ReadonlyMap<string, string>): Promise<Html> {
  // Few processes are ever asked for a runbook.
  const { Marked } = await import('marked');
  const marked = new Marked({
    renderer: {
      html: ({ raw }) => html`${raw}`.text,
      image: ({ text: alternative }) => html`${alternative}`.text,
      heading({ tokens, depth }) {
        const level = Math.min(depth + 1, 6);
        return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`;
      },
      link({ href, tokens }) {
        const label = this.parser.parseInline(tokens);
        const [, file = ''] = /^(?:\.\.\/)?([\w-]+\.md)(?:#.*)?$/.exec(href) ?? [];
        const target = pages.has(runbookOf(file))
          ? runbookOf(file)
          : /^https?:\/\//.test(href) && href;
        return target ? html`<a href="${target}">${new Html(label)}</a>`.text : label;
      },
    },
  });
  return new Html(await marked.parse(text));
}
