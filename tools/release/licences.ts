import type { BundledPackage } from './bundle.ts';

/** Licences that are compatible with Apache-2.0. */
const COMPATIBLE = [
  'Apache-2.0',
  'MIT',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
];

/** Packages of the program whose licence is missing or not known to be compatible, with that licence. */
export function findForeignLicences(
  packages: readonly Partial<Pick<BundledPackage, 'name' | 'license'>>[],
): readonly string[] {
  return packages
    .filter(({ license = '' }) => !COMPATIBLE.includes(license))
    .map(({ name, license = 'no licence' }) => `${name}: ${license}`);
}
