import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { writeConfigurationPage } from '../../tools/docs/configuration-page.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');

/** Every page of the project, by its path from the root. */
function listPages(): readonly string[] {
  const inDocs = readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
  const atRoot = readdirSync(ROOT);
  return [...inDocs.map((name) => `docs/${name}`), ...atRoot].filter((name) =>
    name.endsWith('.md'),
  );
}

function read(page: string): string {
  return readFileSync(path.join(ROOT, page), 'utf8');
}

/** Anchors that GitHub generates from headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = text.matchAll(/^#+ (.+)$/gm);
  return new Set(
    Array.from(headings, ([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function findBrokenLinks(page: string): readonly string[] {
  const links = read(page).matchAll(/\]\(([^)\s]+)\)/g);
  return Array.from(links, ([, target = '']) => target)
    .filter((target) => !/^(?:https?|mailto):/.test(target))
    .filter((target) => {
      const [file = '', anchor] = target.split('#');
      const found = file === '' ? page : path.join(path.dirname(page), file);
      if (!existsSync(path.join(ROOT, found))) return true;
      return anchor !== undefined && !anchorsOf(read(found)).has(anchor);
    });
}

describe('the pages of the project', () => {
  test.each(listPages())('%s has no broken links', (page) => {
    expect(findBrokenLinks(page)).toEqual([]);
  });

  test('docs/configuration.md is the output of `npm run docs`', () => {
    expect(read('docs/configuration.md')).toBe(writeConfigurationPage());
  });

  test('every page of docs can be reached from the README', () => {
    const reached = new Set(['README.md']);
    for (const page of reached) {
      for (const [, target = ''] of read(page).matchAll(/\]\(([^)#\s]+\.md)(?:#[^)]*)?\)/g)) {
        if (!target.startsWith('http')) reached.add(path.join(path.dirname(page), target));
      }
    }
    const pages = listPages().filter((page) => page.startsWith('docs/'));
    expect(pages.filter((page) => !reached.has(page))).toEqual([]);
  });
});
