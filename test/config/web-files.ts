import path from 'node:path';
import { formatIssues } from '../../src/config/issues.ts';
import { readWebConfig, type WebConfigReading } from '../../src/config/web-config.ts';
import { createAuthority } from '../support/certificates.ts';
import { makeFolder } from './folder.ts';

/** bcrypt of `secret`, at the lowest cost. */
export const HASH = '$2b$04$HWx1DrBFQJAm451ycqa1NOS6zzPo4Wi66A7z40s7XMpnTlmsOjUx.';
/** A pair that goes together. */
export const PAIR = 'cert_file: good.crt, key_file: good.key';

const authority = await createAuthority();
const [good, other, expired] = await Promise.all([
  authority.issue({ name: 'good' }),
  authority.issue({ name: 'other' }),
  authority.issue({ name: 'expired', days: -1 }),
]);

/** What web config files may name. */
export const FILES = {
  'good.crt': good.cert,
  'good.key': good.key,
  'other.key': other.key,
  'expired.crt': expired.cert,
  'expired.key': expired.key,
  'ca.crt': authority.cert,
  'broken.crt': good.cert.replace(/\n.{20}/, '\n####################'),
  'encrypted.key':
    '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n',
  'empty.pem': '',
};

export interface TextReading extends Pick<WebConfigReading, 'config'> {
  /** A line each, without the temporary folder. */
  readonly problems: string;
  readonly warnings: string;
  readonly files: readonly string[];
}

/** Reads a web config file of this text, beside the files above. */
export async function readText(yaml: string): Promise<TextReading> {
  const folder = await makeFolder({ ...FILES, 'web.yml': yaml });
  const reading = await readWebConfig(path.join(folder, 'web.yml'));
  const bare = (text: string): string => text.replaceAll(`${folder}/`, '');
  return {
    config: reading.config,
    problems: bare(formatIssues(reading.problems)),
    warnings: bare(formatIssues(reading.warnings)),
    files: reading.files.map(bare),
  };
}
