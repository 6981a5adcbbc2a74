import type { BundledPackage } from './bundle.ts';
import { NODE_VERSION } from './node-runtime.ts';

/**
 * The CycloneDX bill of materials of what is published: the packages in the compiled program, and Node.js, which all but the
 * npm package contain. The same for the same files.
 */
export function writeBillOfMaterials(packages: readonly BundledPackage[], version: string): string {
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': 'crdb-exporter',
        name: 'crdb-exporter',
        version,
        licenses: [{ license: { id: 'Apache-2.0' } }],
      },
    },
    components: [
      {
        type: 'application',
        'bom-ref': `node@${NODE_VERSION}`,
        name: 'node',
        version: NODE_VERSION,
        description: 'Node.js, in all artefacts but the npm package',
        licenses: [{ license: { id: 'MIT' } }],
        purl: `pkg:generic/node@${NODE_VERSION}`,
      },
      ...packages.map((one) => ({
        type: 'library',
        'bom-ref': `${one.name}@${one.version}`,
        name: one.name,
        version: one.version,
        licenses: [{ license: { id: one.license } }],
        purl: `pkg:npm/${one.name.replace('@', '%40')}@${one.version}`,
        hashes: [hashOf(one)],
      })),
    ],
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/** The checksum of the package in the registry, in hexadecimal. */
function hashOf({ name, integrity }: BundledPackage): object {
  const [, base64] = /^sha512-(.+)$/.exec(integrity) ?? [];
  if (base64 === undefined) throw new Error(`package-lock.json has no checksum of ${name}`);
  return { alg: 'SHA-512', content: Buffer.from(base64, 'base64').toString('hex') };
}
