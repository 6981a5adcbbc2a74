import { rm, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { messageOf } from '#base';
import { cloud } from '#collectors';
import { explainFileError, readPemFile } from '#config';
import { defineAssistant } from '../cloud-assistant.ts';
import { addClusterAction, type ClusterTarget, confirm } from '../cluster-target.ts';
import { addExamples, type CommandContext, CommandError, EXIT, usageError } from '../command.ts';
import { addListingOptions, type ListingOptions, openListing } from '../output/listing.ts';
import { note, writeServerText } from '../output/standard-output.ts';

const RENAME_DATABASE = {
  name: 'rename-database',
  api: 'cloud',
  privilege: 'the role CLUSTER_ADMIN, CLUSTER_OPERATOR_WRITER or CLUSTER_DATA_ACCESSOR',
  verification: 'with SHOW DATABASES',
  remedies: {
    404: 'check the old name: it must be a database of this cluster',
    409: 'choose another new name',
  },
} as const;

/** `cloud …`: the operations of the Cloud API. */
export function define(command: Command, context: CommandContext): void {
  defineRenameDatabase(command, context);
  defineAssistant(command, context);
  defineCaCert(command, context);
}

/** `cloud rename-database OLD NEW`: PATCH …/databases. */
function defineRenameDatabase(parent: Command, context: CommandContext): void {
  const command = parent
    .command('rename-database')
    .description('rename a database')
    .argument('<old>', 'current name of the database')
    .argument('<new>', 'new name');
  addListingOptions(command);
  addClusterAction(command, context, RENAME_DATABASE, rename);
  addExamples(command, 'cloud rename-database movr rides --config.file=exporter.yml');
}

async function rename(
  target: ClusterTarget<'cloud'>,
  name: string,
  newName: string,
  options: ListingOptions & { readonly yes?: boolean },
): Promise<void> {
  const change = `rename the database ${JSON.stringify(name)} to ${JSON.stringify(newName)}`;
  await confirm(target, change, options.yes);
  const renamed = await target.api.renameDatabase(target.stats, { name, newName });
  const database = renamed ?? { name: newName, table_count: undefined };
  const listing = openListing<typeof database>(options, {
    member: 'databases',
    columns: [
      { title: 'DATABASE', value: (renamedDatabase) => renamedDatabase.name },
      { title: 'TABLES', value: (renamedDatabase) => renamedDatabase.table_count },
    ],
  });
  listing.add(database);
  await listing.close();
}

const BUNDLE_REMEDIES = {
  404: 'there is no migration assistant: create one with `cloud assistant provision`',
};
const CHANGE_BUNDLE = {
  api: 'cloud',
  privilege: 'the role ORG_ADMIN or CLUSTER_ADMIN',
  verification: 'with `cloud ca-cert get`',
  remedies: BUNDLE_REMEDIES,
} as const;
const GET_BUNDLE = { ...cloud, name: 'ca-cert-get', remedies: BUNDLE_REMEDIES };
const SET_BUNDLE = { ...CHANGE_BUNDLE, name: 'ca-cert-set' };
const DELETE_BUNDLE = { ...CHANGE_BUNDLE, name: 'ca-cert-delete' };

const SYSTEM_ROOTS = "the assistant trusts the system's roots";

/** `cloud ca-cert get|set|delete`: the CA that the migration assistant trusts for its source database. */
function defineCaCert(parent: Command, context: CommandContext): void {
  const group = parent
    .command('ca-cert')
    .description(
      'print, set or delete the CA certificates for the source database of the migration assistant',
    );

  const get = group.command('get').description('print the CA certificates');
  addClusterAction(get, context, GET_BUNDLE, printBundle);
  addExamples(get, 'cloud ca-cert get --config.file=exporter.yml > source-ca.pem');

  const set = group
    .command('set')
    .description('set the CA certificates')
    .argument('<file>', 'PEM file with the certificates');
  addClusterAction(set, context, SET_BUNDLE, setBundle);
  addExamples(set, 'cloud ca-cert set source-ca.pem --config.file=exporter.yml');

  const remove = group
    .command('delete')
    .description(
      'print the CA certificates and delete them; the assistant then trusts the system roots',
    )
    .option(
      '--save <file>',
      'Write the certificates to a new file instead of printing them, before they are deleted.',
    );
  addClusterAction(remove, context, DELETE_BUNDLE, deleteBundle);
  addExamples(remove, 'cloud ca-cert delete --save old-ca.pem --config.file=exporter.yml');
}

async function printBundle(target: ClusterTarget<'cloud'>): Promise<void> {
  const pem = await target.api.caCertificate(target.stats);
  if (pem === '') note(`there is no bundle: ${SYSTEM_ROOTS}`);
  await writeServerText(asLines(pem));
}

async function setBundle(target: ClusterTarget<'cloud'>, file: string, { yes }: { yes?: boolean }) {
  const pem = await readCertificates(file);
  await confirm(target, `make the migration assistant trust the certificates in ${file}`, yes);
  await target.api.setCaCertificate(target.stats, pem);
  note(`done: the assistant trusts the certificates in ${file}`);
}

/** The service keeps no copy: nothing is deleted until the bundle is saved or printed. */
async function deleteBundle(
  target: ClusterTarget<'cloud'>,
  { save, yes }: { save?: string; yes?: boolean },
): Promise<number> {
  await confirm(target, 'delete the CA certificate of the source database', yes);
  const pem = asLines(await target.api.caCertificate(target.stats));
  if (pem === '') {
    note(`there is no bundle${save === undefined ? '' : `; ${save} was not written`}`);
  } else if (save !== undefined) {
    await saveCertificates(pem, save);
    note(`the certificates are saved in ${save}`);
  } else if (!(await writeServerText(pem))) {
    note('the certificates could not be printed: nothing was deleted; use --save FILE');
    return EXIT.failed;
  }
  await target.api.deleteCaCertificate(target.stats);
  note(`done: ${SYSTEM_ROOTS}`);
  return EXIT.ok;
}

const BEGIN = '-----BEGIN CERTIFICATE-----';
const BLOCK = new RegExp(`${BEGIN}\\s[A-Za-z0-9+/=\\s]+-----END CERTIFICATE-----`, 'g');
const PRIVATE_KEY = /-----BEGIN [^\n-]*PRIVATE KEY/;

/** The certificates of a PEM file, without the text around them. A file that also holds a private key is refused. */
async function readCertificates(file: string): Promise<string> {
  const pem = await readPemFile(file, file).catch((cause: unknown) => {
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

/** Writes certificates to a new file, and on the disk, since the service keeps no copy; no part of a file is left. */
async function saveCertificates(pem: string, file: string): Promise<void> {
  try {
    await writeFile(file, pem, { flag: 'wx', flush: true });
  } catch (cause) {
    const exists = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST';
    const why = exists ? 'it exists: choose a new one' : explainFileError(cause, 'folder');
    if (!exists) await rm(file, { force: true }).catch(() => undefined);
    const message = `cannot write ${file}: ${why}; nothing was deleted`;
    throw new CommandError(message, exists ? EXIT.usage : EXIT.failed, cause);
  }
}

/** PEM that ends in a line break; '' stays ''. */
function asLines(pem: string): string {
  return pem === '' || pem.endsWith('\n') ? pem : `${pem}\n`;
}
