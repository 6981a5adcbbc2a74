import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** A link or a picture of a page, with its text and the file that it names. */
const LINK = /(!?)\[([^\]]*)\]\(([^)#\s]+)(?:#[^)]*)?\)/g;

/** Links of the pages in this folder that name no file of it: `docs/scale.md: ../bench/README.md`. */
export function findDeadLinks(folder: string): readonly string[] {
  return listPages(folder).flatMap((page) =>
    Array.from(
      readFileSync(path.join(folder, page), 'utf8').matchAll(LINK),
      ([, , , target = '']) => (leadsOut(folder, page, target) ? [`${page}: ${target}`] : []),
    ).flat(),
  );
}

/** What package.json has for a checkout alone: its doors lead into the source, and its programs are those of development. */
const FOR_CHECKOUT = ['imports', 'workspaces', 'scripts', 'devDependencies'] as const;

/** Takes out of an unpacked npm package what leads out of it: links of its pages, and parts of package.json. */
export function dropWhatLeadsOut(folder: string): void {
  dropDeadLinks(folder);
  const file = path.join(folder, 'package.json');
  const manifest: Record<string, unknown> = JSON.parse(readFileSync(file, 'utf8'));
  for (const key of FOR_CHECKOUT) delete manifest[key];
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

/**
 * Takes the links out of the pages in this folder that name no file of it: most pictures and what developers read are in the
 * repository alone. The text of a link stays, a picture goes.
 */
function dropDeadLinks(folder: string): void {
  for (const page of listPages(folder)) {
    const file = path.join(folder, page);
    const text = readFileSync(file, 'utf8');
    const kept = text.replaceAll(LINK, (link, mark: string, words: string, target: string) => {
      if (!leadsOut(folder, page, target)) return link;
      return mark === '!' ? '' : words;
    });
    if (kept !== text) writeFileSync(file, kept.replaceAll(/\n{3,}/g, '\n\n'));
  }
}

function listPages(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  );
}

function leadsOut(folder: string, page: string, target: string): boolean {
  return !/^[a-z]+:/.test(target) && !existsSync(path.join(folder, path.dirname(page), target));
}
