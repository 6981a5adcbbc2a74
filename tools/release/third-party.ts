import type { BundledPackage } from './bundle.ts';

const HEAD = `The program contains parts of the packages below. Each stands under a line of its own,
with its version, its licence, and the text of its licence file.
`;

/** The text that a package under this licence leaves out when it has no licence file. */
const MIT = `The package has no licence file. The licence that its package.json names has this text:

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`;

/** The licences of these packages in one text. Throws for a package whose licence text is not known. */
export function writeThirdPartyLicences(packages: readonly BundledPackage[]): string {
  return [HEAD, ...packages.map(writeLicence)].join('\n');
}

function writeLicence({ name, version, license, licenseText }: BundledPackage): string {
  if (licenseText === undefined && license !== 'MIT') {
    throw new Error(`${name} ${version} has no licence file: add the text of ${license}`);
  }
  return `=== ${name} ${version} (${license})\n\n${(licenseText ?? MIT).trim()}\n`;
}
