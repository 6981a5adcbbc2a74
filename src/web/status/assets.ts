import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Route } from '../routes.ts';
import type { AssetPaths } from './page/page.ts';

interface AssetFiles {
  readonly name: string;
  readonly type: string;
  /** Sent one after the other; what comes later wins. */
  readonly files: readonly string[];
}

const STYLE: AssetFiles = {
  name: 'page.css',
  type: 'text/css; charset=utf-8',
  files: ['page.css', 'panels.css', 'narrow.css'],
};
const SCRIPT: AssetFiles = {
  name: 'page.js',
  type: 'text/javascript; charset=utf-8',
  // Not page.js: that is what page.ts becomes in the package.
  files: ['in-browser.js'],
};
const ICON: AssetFiles = { name: 'icon.svg', type: 'image/svg+xml', files: ['icon.svg'] };

/** What the pages load beside themselves, all of it from here. */
export interface Assets {
  readonly paths: AssetPaths;
  readonly routes: readonly Route[];
}

/** Reads the files once. Rejects when the installation lacks one. */
export async function loadAssets(): Promise<Assets> {
  const [style, script, icon] = await Promise.all([
    loadAsset(STYLE),
    loadAsset(SCRIPT),
    loadAsset(ICON),
  ]);
  return {
    paths: { style: style.url, script: script.url, icon: icon.url },
    routes: [style.route, script.route, icon.route],
  };
}

async function loadAsset({
  name,
  type,
  files,
}: AssetFiles): Promise<{ url: string; route: Route }> {
  const parts = files.map((file) => readFile(new URL(`page/${file}`, import.meta.url)));
  const content = Buffer.concat(await Promise.all(parts));
  const version = createHash('sha256').update(content).digest('hex').slice(0, 8);
  const path = `/-/${name}`;
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
