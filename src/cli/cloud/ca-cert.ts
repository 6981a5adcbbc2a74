import { rm, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { explainFileError, readSmallText } from '../../config/files.ts';
import { addExamples, type Invocation } from '../command.ts';
import { addConfirmOption, confirm } from '../confirm.ts';
import { CommandError, EXIT, usageError } from '../exit.ts';
import { note, writeServerText } from '../standard-output.ts';
import { addTargetOptions, type Target, withTarget } from '../target.ts';
import { cloudApiOf, describeCluster } from './cloud-target.ts';

const SYSTEM_ROOTS = "the assistant trusts the system's roots";

/** `cloud ca-cert get|set|delete`: the CA that the migration assistant trusts for its source database. */
export function defineCaCert(parent: Command, invocation: Invocation): void {
  const group = parent
    .command('ca-cert')
    .description('the CA certificate of the source database of the migration assistant');
  defineGet(group, invocation);
  defineSet(group, invocation);
  defineDelete(group, invocation);
}

function defineGet(group: Command, invocation: Invocation): void {
  const command = group.command('get').description('print the bundle');
  addTargetOptions(command);
  addExamples(command, 'cloud ca-cert get --config.file=exporter.yml > source-ca.pem');
  command.action(async () => {
    const asked = { operation: 'ca-cert-get', work: printBundle } as const;
    invocation.done(await withTarget(command, invocation, asked));
  });
}

async function printBundle(target: Target): Promise<number> {
  const pem = await cloudApiOf(target).caCertificate(target.reading);
  if (pem === '') note(`there is no bundle: ${SYSTEM_ROOTS}`);
  await writeServerText(asLines(pem));
  return EXIT.good;
}

function defineSet(group: Command, invocation: Invocation): void {
  const command = group
    .command('set')
    .description('set the bundle')
    .argument('<file>', 'PEM file with the certificates');
  addConfirmOption(command);
  addTargetOptions(command);
  addExamples(command, 'cloud ca-cert set source-ca.pem --config.file=exporter.yml');
  command.action(async (file: string, { yes = false }: { readonly yes?: boolean }) => {
    const pem = await readPem(file);
    const work = async (target: Target): Promise<number> => {
      const what = `let the migration assistant trust the certificates in ${file}`;
      const plan = { what, where: describeCluster(target) };
      const api = cloudApiOf(target);
      await confirm(plan, { isAgreed: yes, signal: target.ending.signal });
      await api.setCaCertificate(target.reading, pem);
      note(`done: the assistant trusts the certificates in ${file}`);
      return EXIT.good;
    };
    invocation.done(await withTarget(command, invocation, { operation: 'ca-cert-set', work }));
  });
}

function defineDelete(group: Command, invocation: Invocation): void {
  const command = group
    .command('delete')
    .description(
      "delete the bundle, so that the system's roots are trusted; prints what is deleted",
    )
    .option('--save <file>', 'Write the deleted bundle to a new file instead of printing it.');
  addConfirmOption(command);
  addTargetOptions(command);
  addExamples(command, 'cloud ca-cert delete --save old-ca.pem --config.file=exporter.yml');
  command.action(async (options: { readonly save?: string; readonly yes?: boolean }) => {
    const work = (target: Target): Promise<number> => deleteBundle(target, options);
    invocation.done(await withTarget(command, invocation, { operation: 'ca-cert-delete', work }));
  });
}

async function deleteBundle(
  target: Target,
  { save, yes = false }: { readonly save?: string; readonly yes?: boolean },
): Promise<number> {
  const api = cloudApiOf(target);
  const plan = {
    what: 'delete the CA certificate of the source database',
    where: describeCluster(target),
  };
  await confirm(plan, { isAgreed: yes, signal: target.ending.signal });
  // A file that cannot be written must be known before the bundle is gone.
  if (save !== undefined) await writeNew(save, '');
  let pem: string | undefined;
  try {
    pem = await api.deleteCaCertificate(target.reading);
  } finally {
    if (save !== undefined && !pem) await rm(save, { force: true });
  }
  noteDeleted(pem, save);
  if (save === undefined) await writeServerText(asLines(pem ?? ''));
  else if (pem) await writeFile(save, asLines(pem));
  return EXIT.good;
}

function noteDeleted(pem: string | undefined, save: string | undefined): void {
  const unwritten = save === undefined ? '' : `; ${save} was not written`;
  if (pem) note(`done: ${SYSTEM_ROOTS}`);
  else if (pem === '') note(`there was no bundle: ${SYSTEM_ROOTS}${unwritten}`);
  else note(`done: ${SYSTEM_ROOTS}; the service did not return the deleted bundle${unwritten}`);
}

async function readPem(file: string): Promise<string> {
  const pem = await readSmallText(file).catch((cause: unknown) => {
    throw usageError(`cannot read ${file}: ${explainFileError(cause)}`);
  });
  if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem;
  throw usageError(
    `${file} holds no certificate: it must be PEM, with -----BEGIN CERTIFICATE-----`,
  );
}

async function writeNew(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: 'wx' }).catch((cause: unknown) => {
    const isThere = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST';
    const why = isThere ? 'it exists: choose a new one' : explainFileError(cause);
    throw new CommandError(`cannot write ${file}: ${why}; nothing was deleted`, EXIT.usage, cause);
  });
}

function asLines(pem: string): string {
  return pem === '' || pem.endsWith('\n') ? pem : `${pem}\n`;
}
