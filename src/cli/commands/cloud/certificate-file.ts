import { type FileHandle, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { explainFileError, readTextFile } from '../../../config/files.ts';
import { messageOf } from '../../../format.ts';
import { CommandError, EXIT, usageError } from '../../command.ts';

const BEGIN = '-----BEGIN CERTIFICATE-----';
const BLOCK = new RegExp(`${BEGIN}\\s[A-Za-z0-9+/=\\s]+-----END CERTIFICATE-----`, 'g');
const PRIVATE_KEY = /-----BEGIN [^\n-]*PRIVATE KEY/;

/** The certificates of a PEM file, without the text around them. A file that also holds a private key is refused. */
export async function readCertificates(file: string): Promise<string> {
  const pem = await readTextFile(file, file).catch((cause: unknown) => {
    throw usageError(messageOf(cause));
  });
  if (PRIVATE_KEY.test(pem)) {
    throw usageError(
      `${file} holds a private key, which must not leave this machine: name a file with the certificates alone, as written by \`sed -n '/BEGIN CERTIFICATE/,/END CERTIFICATE/p' ${file} > ca.pem\``,
    );
  }
  const blocks = pem.match(BLOCK) ?? [];
  const begun = pem.split(BEGIN).length - 1;
  if (begun === 0) throw usageError(`${file} holds no certificate: it must be PEM, with ${BEGIN}`);
  if (blocks.length === begun) return asLines(blocks.join('\n'));
  throw usageError(
    `${file} holds an incomplete certificate: each must begin with ${BEGIN}, end with -----END CERTIFICATE-----, and be base64 between them`,
  );
}

/**
 * Writes certificates to a new file. They are on the disk when this resolves, also if the machine loses power then. A
 * file that could not be written is removed.
 */
export async function saveCertificates(pem: string, file: string): Promise<void> {
  const created = await open(file, 'wx').catch((cause: unknown) => {
    const exists = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST';
    const why = exists ? 'it exists: choose a new one' : explainFileError(cause, 'folder');
    throw notWritten(file, why, EXIT.usage, cause);
  });
  try {
    await writeAndSync(created, asLines(pem));
    await using folder = await open(path.dirname(file));
    await folder.sync();
  } catch (cause) {
    await rm(file, { force: true });
    throw notWritten(file, explainFileError(cause), EXIT.failed, cause);
  }
}

async function writeAndSync(created: FileHandle, text: string): Promise<void> {
  await using file = created;
  await file.writeFile(text);
  await file.sync();
}

function notWritten(file: string, why: string, exitCode: number, cause: unknown): CommandError {
  return new CommandError(`cannot write ${file}: ${why}; nothing was deleted`, exitCode, cause);
}

/** PEM that ends in a line break; '' stays ''. */
export function asLines(pem: string): string {
  return pem === '' || pem.endsWith('\n') ? pem : `${pem}\n`;
}
