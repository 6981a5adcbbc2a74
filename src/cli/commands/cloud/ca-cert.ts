import type { Command } from 'commander';
import { cloud } from '../../../collectors/cloud.ts';
import { addClusterAction, type ClusterTarget } from '../../cluster-target.ts';
import { addExamples, type CommandContext, EXIT } from '../../command.ts';
import { note, writeServerText } from '../../output/standard-output.ts';
import { asLines, readCertificates, saveCertificates } from './certificate-file.ts';
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
      'print the CA certificates and delete them; the assistant then trusts the system roots',
    )
    .option(
      '--save <file>',
      'Write the certificates to a new file instead of printing them, before they are deleted.',
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
  const found = await target.api.caCertificate(target.stats);
  if (!(await keep(found, save))) {
    note('the certificates could not be printed: nothing was deleted; use --save FILE');
    return EXIT.failed;
  }
  const deleted = await target.api.deleteCaCertificate(target.stats);
  await reportDeleted(found, deleted ?? found);
  return EXIT.ok;
}

/** False when standard output did not take the bundle. */
async function keep(pem: string, save: string | undefined): Promise<boolean> {
  if (pem === '') {
    note(`there is no bundle${save === undefined ? '' : `; ${save} was not written`}`);
    return true;
  }
  if (save === undefined) return writeServerText(asLines(pem));
  await saveCertificates(pem, save);
  note(`the certificates are saved in ${save}`);
  return true;
}

async function reportDeleted(found: string, deleted: string): Promise<void> {
  note(`done: ${SYSTEM_ROOTS}`);
  if (asLines(deleted) === asLines(found)) return;
  const ending = deleted === '' ? 'it returned none' : 'standard output ends with it';
  note(
    `warning: the bundle that the service deleted is not the one that it returned before: ${ending}`,
  );
  await writeServerText(asLines(deleted));
}
