import type { TlsConfig } from './config.ts';
import { earliestExpiry, parseCertificates, parsePrivateKey, writeCertificates } from './pem.ts';
import { explainFileError } from './secret.ts';
import { readSmallText } from './small-file.ts';

/** How a cluster is spoken to over TLS: the contents of the files of a TlsConfig. */
export interface ClientTls {
  /** PEM; the usual CAs when absent. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly servername?: string | undefined;
  readonly rejectUnauthorized: boolean;
  /** When the first of the certificates of `cert` expires, ms since the epoch. */
  readonly notAfterMs?: number | undefined;
}

/** Reads the files of the settings. Rejects with a message that names the file when one cannot be used. */
export async function readClientTls(config: TlsConfig): Promise<ClientTls> {
  const { caFile, certFile, keyFile, serverName, insecureSkipVerify } = config;
  const ca = caFile === undefined ? undefined : await readUsable(caFile, parseCertificates);
  const cert = certFile === undefined ? undefined : await readUsable(certFile, parseCertificates);
  const key = keyFile === undefined ? undefined : await readUsable(keyFile, parsePrivateKey);
  if (cert && key && !cert.value[0]?.checkPrivateKey(key.value)) {
    throw new Error(`the key in ${keyFile} does not belong to the certificate in ${certFile}`);
  }
  return {
    ca: ca && writeCertificates(ca.value),
    cert: cert && writeCertificates(cert.value),
    key: key?.text,
    servername: serverName,
    rejectUnauthorized: !insecureSkipVerify,
    notAfterMs: cert && earliestExpiry(cert.value),
  };
}

/** The files that these settings name. */
export function clientTlsFiles({ caFile, certFile, keyFile }: TlsConfig): readonly string[] {
  return [caFile, certFile, keyFile].filter((file) => file !== undefined);
}

async function readUsable<T>(
  file: string,
  parse: (text: string) => T,
): Promise<{ readonly text: string; readonly value: T }> {
  const text = await readSmallText(file).catch((cause: unknown) => {
    throw new Error(`cannot read the file ${file}: ${explainFileError(cause)}`, { cause });
  });
  try {
    return { text, value: parse(text) };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the file ${file} ${reason}`, { cause });
  }
}
