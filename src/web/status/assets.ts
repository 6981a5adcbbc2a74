import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Route } from '../routes.ts';
import type { AssetPaths } from './page/page.ts';

const FILES = {
  style: ['page.css', 'text/css; charset=utf-8'],
  // Not page.js: that is what page.ts becomes in the package.
  script: ['in-browser.js', 'text/javascript; charset=utf-8'],
  icon: ['icon.svg', 'image/svg+xml'],
} as const;

/** What the pages load beside themselves, all of it from here. */
export interface Assets {
  readonly paths: AssetPaths;
  readonly routes: readonly Route[];
}

/** Reads the files once. Rejects when the installation lacks one. */
export async function loadAssets(): Promise<Assets> {
  const [style, script, icon] = await Promise.all([
    loadAsset(...FILES.style),
    loadAsset(...FILES.script),
    loadAsset(...FILES.icon),
  ]);
  return {
    paths: { style: style.url, script: script.url, icon: icon.url },
    routes: [style.route, script.route, icon.route],
  };
}

async function loadAsset(file: string, type: string): Promise<{ url: string; route: Route }> {
  const content = await readFile(new URL(`page/${file}`, import.meta.url));
  const version = createHash('sha256').update(content).digest('hex').slice(0, 8);
  const path = `/-/${file}`;
  return {
    url: `${path}?${version}`,
    route: {
      path,
      methods: ['GET', 'HEAD'],
      handle(_request, response) {
        response.writeHead(200, {
          'content-type': type,
          // Its address changes with its content.
          'cache-control': 'max-age=31536000, immutable',
          'x-content-type-options': 'nosniff',
        });
        response.end(content);
      },
    },
  };
}
