import type { Command } from 'commander';
import { addExamples, type Invocation } from '../command.ts';
import { addConfirmOption, confirm } from '../confirm.ts';
import { CommandError, EXIT } from '../exit.ts';
import { addListingOptions, type Format } from '../listing.ts';
import { note } from '../standard-output.ts';
import { addTargetOptions, type Target, withTarget } from '../target.ts';
import { assistantShape, printAssistant } from './assistant-view.ts';
import { cloudApiOf, describeCluster } from './cloud-target.ts';
import { waitUntilRunning } from './provisioning.ts';

interface Options {
  readonly output: Format;
  readonly yes?: boolean;
  readonly region?: string;
  readonly wait?: boolean;
  readonly showPassword?: boolean;
}

/** `cloud assistant get|provision|delete`: the migration assistant of a cluster. */
export function defineAssistant(parent: Command, invocation: Invocation): void {
  const group = parent.command('assistant').description('the migration assistant of the cluster');
  const get = group.command('get').description('show it');
  addCommon(get);
  addExamples(get, 'cloud assistant get --config.file=exporter.yml');
  get.action(async (options: Options) => {
    const work = (target: Target): Promise<number> => show(target, options);
    invocation.done(await withTarget(get, invocation, { operation: 'assistant-get', work }));
  });

  const provision = group
    .command('provision')
    .description('deploy one (dedicated clusters only)')
    .option(
      '--region <name>',
      "Region of the cluster to deploy into; the cluster's first one when left out.",
    )
    .option('--wait', 'Wait until it runs or has failed.');
  addConfirmOption(provision);
  addCommon(provision);
  addExamples(
    provision,
    'cloud assistant provision --region us-east1 --wait --config.file=exporter.yml',
  );
  provision.action(async (options: Options) => {
    const work = (target: Target): Promise<number> => deploy(target, options);
    const operation = 'assistant-provision';
    invocation.done(await withTarget(provision, invocation, { operation, work }));
  });

  const remove = group.command('delete').description('delete it');
  addConfirmOption(remove);
  addCommon(remove);
  addExamples(remove, 'cloud assistant delete --config.file=exporter.yml');
  remove.action(async (options: Options) => {
    const work = (target: Target): Promise<number> => destroy(target, options);
    invocation.done(await withTarget(remove, invocation, { operation: 'assistant-delete', work }));
  });
}

function addCommon(command: Command): void {
  command.option('--show-password', 'Print the password for signing in to it.');
  addListingOptions(command);
  addTargetOptions(command);
}

async function show(target: Target, options: Options): Promise<number> {
  const assistant = await cloudApiOf(target).assistant(target.reading, assistantShape);
  if (assistant === undefined) {
    throw new CommandError(
      'the cluster has no migration assistant: make one with `cloud assistant provision`',
    );
  }
  await printAssistant(assistant, options);
  return EXIT.good;
}

async function deploy(target: Target, options: Options): Promise<number> {
  const { region, yes = false, wait = false } = options;
  const api = cloudApiOf(target);
  const place = region === undefined ? 'in the first region of the cluster' : `in ${region}`;
  const plan = { what: `deploy a migration assistant ${place}`, where: describeCluster(target) };
  await confirm(plan, { isAgreed: yes, signal: target.ending.signal });
  const wish = { region, shape: assistantShape };
  const started = await api.provisionAssistant(target.reading, wish);
  const assistant = wait ? await waitUntilRunning(target, started) : started;
  if (assistant === undefined) return noteAccepted();
  await printAssistant(assistant, options);
  if (assistant.status !== 'FAILED') return EXIT.good;
  note(`provisioning failed: ${assistant.last_error || 'the service does not say why'}`);
  return EXIT.failed;
}

async function destroy(target: Target, options: Options): Promise<number> {
  const api = cloudApiOf(target);
  const plan = { what: 'delete the migration assistant', where: describeCluster(target) };
  await confirm(plan, { isAgreed: options.yes ?? false, signal: target.ending.signal });
  const deleted = await api.deleteAssistant(target.reading, assistantShape);
  if (deleted === undefined) return noteAccepted();
  await printAssistant(deleted, options);
  return EXIT.good;
}

/** For a change that the service answers with no more than a status. */
function noteAccepted(): number {
  note('done: the service accepted it without details; see `cloud assistant get`');
  return EXIT.good;
}
