import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './programs.ts';

const MANIFEST = path.join(ROOT, 'package.json');
/** The package.json of the checkout while the packed one stands in its place. */
const KEPT = path.join(ROOT, '.package.checkout.json');
/** What only a checkout needs: the packed program has no sources that these names could lead to. */
const OF_CHECKOUT = ['imports', 'workspaces', 'devDependencies', 'scripts'];

/** Puts the package.json in place that is packed; `restoreManifest` puts the one of the checkout back, also after a pack that was cut off. */
export function hideCheckoutFields(): void {
  restoreManifest();
  const text = readFileSync(MANIFEST, 'utf8');
  const fields = Object.entries<unknown>(JSON.parse(text)).filter(
    // npm runs `postpack` from the file that it has read before.
    ([name]) => !OF_CHECKOUT.includes(name),
  );
  writeFileSync(KEPT, text);
  writeFileSync(MANIFEST, `${JSON.stringify(Object.fromEntries(fields), undefined, 2)}\n`);
}

/** Puts the package.json of the checkout back. */
export function restoreManifest(): void {
  if (existsSync(KEPT)) renameSync(KEPT, MANIFEST);
}
