// `npm pack` runs this last: the package.json of the checkout returns to its place.
import { restoreManifest } from './manifest.ts';

restoreManifest();
