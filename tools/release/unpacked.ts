// `node tools/release/unpacked.ts FOLDER`: the build of the image takes out of the unpacked npm package what leads out of it.
import { dropWhatLeadsOut } from './links.ts';

dropWhatLeadsOut(process.argv[2] ?? '.');
