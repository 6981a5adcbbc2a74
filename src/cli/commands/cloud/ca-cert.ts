import { rm, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { cloud } from '../../../collectors/cloud.ts';
import { explainFileError, readTextFile } from '../../../config/files.ts';
import { messageOf } from '../../../format.ts';
import { addClusterAction, type ClusterTarget } from '../../cluster-target.ts';
import { addExamples, type CommandContext, CommandError, EXIT, usageError } from '../../command.ts';
import { note, writeServerText } from '../../output/standard-output.ts';
import { addConfirmOption, confirm } from './confirm.ts';

const remedies = {
  404: 'there is no migration assistant: create one with `cloud assistant provision`',
};
const CHANGE = {
  api: 'cloud',
  privilege: 'the role ORG_ADMIN or CLUSTER_ADMIN',
  verification: 'with `cloud ca-cert get`',
  remedies,
} as const;
const GET = { ...cloud, name: 'ca-cert-get', remedies };
const SET = { ...CHANGE, name: 'ca-cert-set' };
const DELETE = { ...CHANGE, name: 'ca-cert-delete' };

const SYSTEM_ROOTS = "the assistant trusts the system's roots";

/** `cloud ca-cert get|set|delete`: the CA that the migration assistant trusts for its source database. */
export function defineCaCert(parent: Command, context: CommandContext): void {
  const group = parent
    .command('ca-cert')
    .description(
      'print, set or delete the CA certificates for the source database of the migration assistant',
    );

  const get = group.command('get').description('print the CA certificates');
  addClusterAction(get, context, GET, printBundle);
  addExamples(get, 'cloud ca-cert get --config.file=exporter.yml > source-ca.pem');

  const set = group
    .command('set')
    .description('set the CA certificates')
    .argument('<file>', 'PEM file with the certificates');
  addConfirmOption(set);
  addClusterAction(set, context, SET, setBundle);
  addExamples(set, 'cloud ca-cert set source-ca.pem --config.file=exporter.yml');

  const remove = group
    .command('delete')
    .description(
      'delete the CA certificates and print them; the assistant then trusts the system roots',
    )
    .option(
      '--save <file>',
      'Write the deleted certificates to a new file instead of printing them.',
    );
  addConfirmOption(remove);
  addClusterAction(remove, context, DELETE, deleteBundle);
  addExamples(remove, 'cloud ca-cert delete --save old-ca.pem --config.file=exporter.yml');
}

async function printBundle(target: ClusterTarget<'cloud'>): Promise<void> {
  const pem = await target.api.caCertificate(target.stats);
  if (pem === '') note(`there is no bundle: ${SYSTEM_ROOTS}`);
  await writeServerText(asLines(pem));
}

async function setBundle(target: ClusterTarget<'cloud'>, file: string, { yes }: { yes?: boolean }) {
  const pem = await readPem(file);
  await confirm(target, `make the migration assistant trust the certificates in ${file}`, yes);
  await target.api.setCaCertificate(target.stats, pem);
  note(`done: the assistant trusts the certificates in ${file}`);
}

async function deleteBundle(
  target: ClusterTarget<'cloud'>,
  { save, yes }: { save?: string; yes?: boolean },
) {
  await confirm(target, 'delete the CA certificate of the source database', yes);
  // A file that cannot be written must be known before the bundle is gone.
  if (save !== undefined) await createEmpty(save);
  let pem: string | undefined;
  try {
    pem = await target.api.deleteCaCertificate(target.stats);
  } finally {
    if (save !== undefined && !pem) await rm(save, { force: true });
  }
  noteDeleted(pem, save);
  if (save === undefined) await writeServerText(asLines(pem ?? ''));
  else if (pem) await writeFile(save, asLines(pem));
}

function noteDeleted(pem: string | undefined, save: string | undefined): void {
  const unwritten = save === undefined ? '' : `; ${save} was not written`;
  if (pem) note(`done: ${SYSTEM_ROOTS}`);
  else if (pem === '') note(`there was no bundle: ${SYSTEM_ROOTS}${unwritten}`);
  else note(`done: ${SYSTEM_ROOTS}; the service did not return the deleted bundle${unwritten}`);
}

async function readPem(file: string): Promise<string> {
  const pem = await readTextFile(file, file).catch((cause: unknown) => {
    throw usageError(messageOf(cause));
  });
  if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem;
  throw usageError(
    `${file} holds no certificate: it must be PEM, with -----BEGIN CERTIFICATE-----`,
  );
}

async function createEmpty(file: string): Promise<void> {
  await writeFile(file, '', { flag: 'wx' }).catch((cause: unknown) => {
    const exists = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST';
    const why = exists ? 'it exists: choose a new one' : explainFileError(cause);
    throw new CommandError(`cannot write ${file}: ${why}; nothing was deleted`, EXIT.usage, cause);
  });
}

function asLines(pem: string): string {
  return pem === '' || pem.endsWith('\n') ? pem : `${pem}\n`;
}
