import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packTarball, repackComplete, unpackWithNode } from './archives.ts';
import { listBundled } from './bundle.ts';
import { nodePackage, type Processor, RPM_PROCESSORS } from './node-runtime.ts';
import { ROOT, run, works } from './programs.ts';
import { writeBillOfMaterials } from './sbom.ts';
import { type Packager, packForSystem } from './system-packages.ts';

export interface ArtefactOptions {
  readonly processors: readonly Processor[];
  readonly packagers: readonly Packager[];
  /** Compresses little or not at all, which makes large files in a short time. */
  readonly isQuick: boolean;
}

/**
 * Builds what a release publishes, apart from image and chart, in this folder: the npm package, and for each processor a tarball,
 * a .deb and a .rpm; a bill of materials; checksums of all. Returns the names of the files. Without nfpm there is no .deb and no
 * .rpm, and nothing for a processor whose Node.js cannot be downloaded.
 */
export async function buildArtefacts(
  to: string,
  { processors, packagers, isQuick }: ArtefactOptions,
): Promise<readonly string[]> {
  const { version }: { readonly version: string } = JSON.parse(
    readFileSync(path.join(ROOT, 'package.json'), 'utf8'),
  );
  const work = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-artefacts-'));
  try {
    run('npm', ['pack', '--pack-destination', to]);
    // Its name has the scope of a registry where package.json has.
    const file = path.join(to, readdirSync(to).find((name) => name.endsWith('.tgz')) ?? '');
    repackComplete(file, work, isQuick ? 1 : 9);
    const chosen = works('nfpm', '--version') ? packagers : [];
    for (const processor of processors) {
      const unpacked = unpackWithNode({ file, version }, processor, work);
      if (unpacked === undefined) continue;
      packTarball(unpacked, to, isQuick ? 0 : 9);
      for (const packager of chosen) packForSystem(unpacked, packager, { to, isQuick });
    }
    const packages = listBundled(path.join(ROOT, 'dist'));
    writeFileSync(path.join(to, 'sbom.cdx.json'), writeBillOfMaterials(packages, version));
  } finally {
    rmSync(work, { recursive: true });
  }
  return writeChecksums(to);
}

/**
 * What of these options is not among the files, and why: `no .deb for amd64: nfpm is not installed`. Every file has the name of its processor,
 * a .rpm that of its own.
 */
export function listLeftOut(
  names: readonly string[],
  { processors, packagers }: Pick<ArtefactOptions, 'processors' | 'packagers'>,
): readonly string[] {
  const isReady = (processor: Processor): boolean =>
    names.some((name) => name.endsWith(`${processor}.tar.gz`));
  const missing = processors.filter((processor) => !isReady(processor));
  const unpacked = processors.filter(isReady);
  const others = packagers.flatMap((packager) =>
    unpacked
      .filter((processor) => {
        const inName = packager === 'rpm' ? RPM_PROCESSORS[processor] : processor;
        return !names.some((name) => name.endsWith(`${inName}.${packager}`));
      })
      .map((processor) => `no .${packager} for ${processor}: nfpm is not installed`),
  );
  return [
    ...missing.map(
      (processor) => `nothing for ${processor}: npm pack ${nodePackage(processor)} fails`,
    ),
    ...others,
  ];
}

/** Writes checksums.txt, which `sha256sum --check` reads. */
function writeChecksums(folder: string): readonly string[] {
  const names = readdirSync(folder).toSorted();
  const lines = names.map((name) => {
    const sum = createHash('sha256').update(readFileSync(path.join(folder, name)));
    return `${sum.digest('hex')}  ${name}\n`;
  });
  writeFileSync(path.join(folder, 'checksums.txt'), lines.join(''));
  return [...names, 'checksums.txt'];
}
