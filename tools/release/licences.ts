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

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly license?: string; readonly dev?: boolean; readonly link?: boolean }>
  >;
}

/** Production packages whose licence is missing or not known to be compatible, with that licence. */
export function findForeignLicences(lock: Lock): readonly string[] {
  return Object.entries(lock.packages)
    .filter(([place, { dev, link }]) => place !== '' && dev !== true && link !== true)
    .filter(([, { license = '' }]) => !COMPATIBLE.includes(license))
    .map(([place, { license = 'no licence' }]) => `${place}: ${license}`);
}
