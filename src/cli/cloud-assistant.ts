import type { Command } from 'commander';
import { formatAge, formatLine } from '#base';
import { diagnose, RequestError } from '#cockroach';
import { assistantDetails, cloud } from '#collectors';
import type { Infer } from '#json';
import { addClusterAction, type ClusterTarget, confirm } from './cluster-target.ts';
import { addExamples, type CommandContext, CommandError, EXIT } from './command.ts';
import { addListingOptions, type ListingOptions } from './output/listing.ts';
import { note, showProgress, writeJson } from './output/standard-output.ts';
import { printTable, type Style, type Value } from './output/table.ts';

const CHANGE = {
  api: 'cloud',
  privilege: 'the role ORG_ADMIN or CLUSTER_ADMIN',
  verification: 'with `cloud assistant get`',
  remedies: {
    404: 'there is no migration assistant: create one with `cloud assistant provision`',
    409: 'check its state with `cloud assistant get`',
  },
} as const;
const PROVISION = {
  ...CHANGE,
  name: 'assistant-provision',
  remedies: {
    ...CHANGE.remedies,
    404: 'check --region: it must be a region of the cluster; without it the service chooses one',
  },
};
const DELETE = { ...CHANGE, name: 'assistant-delete' };
const GET_ASSISTANT = { ...cloud, name: 'assistant-get' };

const POLL_MS = 2_000;
/** Statuses that end `--wait`; it goes on waiting at a status that it does not know. */
const FINAL_STATUSES = new Set(['RUNNING', 'FAILED', 'DELETING']);
/** Failures that a retry does not fix. */
const PERMANENT_STATUSES = new Set([400, 401, 403, 404, 501]);
const HIDDEN = '<secret>';

type Assistant = Infer<typeof assistantDetails>;

interface Options extends ListingOptions {
  readonly yes?: boolean;
  readonly region?: string;
  readonly wait?: boolean;
  readonly showPassword?: boolean;
}

/** `cloud assistant get|provision|delete`: the migration assistant of a cluster. */
export function defineAssistant(parent: Command, context: CommandContext): void {
  const group = parent
    .command('assistant')
    .description('show, provision or delete the migration assistant');
  const add = (name: string, description: string): Command =>
    group
      .command(name)
      .description(description)
      .option('--show-password', 'Print the password for signing in to it.');

  const get = add('get', 'show the migration assistant');
  addListingOptions(get);
  addClusterAction(get, context, GET_ASSISTANT, getAssistant);
  addExamples(get, 'cloud assistant get --config.file=exporter.yml');

  const provision = add('provision', 'deploy a migration assistant (dedicated clusters only)')
    .option('--region <name>', 'Region to deploy into; default: the first one of the cluster.')
    .option('--wait', 'Wait until it is running or has failed.');
  addListingOptions(provision);
  addClusterAction(provision, context, PROVISION, provisionAssistant);
  addExamples(
    provision,
    'cloud assistant provision --region us-east1 --wait --config.file=exporter.yml',
  );

  const remove = add('delete', 'delete the migration assistant');
  addListingOptions(remove);
  addClusterAction(remove, context, DELETE, deleteAssistant);
  addExamples(remove, 'cloud assistant delete --config.file=exporter.yml');
}

async function getAssistant(target: ClusterTarget<'cloud'>, options: Options): Promise<void> {
  const assistant = await target.api.assistant(target.stats, assistantDetails);
  if (assistant === undefined) {
    throw new CommandError(
      'the cluster has no migration assistant: create one with `cloud assistant provision`',
    );
  }
  await printAssistant(assistant, options);
}

async function provisionAssistant(
  target: ClusterTarget<'cloud'>,
  options: Options,
): Promise<number> {
  const { region, yes, wait = false } = options;
  const where = region ?? 'the first region of the cluster';
  await confirm(target, `deploy a migration assistant in ${where}`, yes);
  const started = await target.api.provisionAssistant(target.stats, {
    region,
    shape: assistantDetails,
  });
  const assistant = wait ? await waitUntilRunning(target, started) : started;
  await printAssistant(assistant, options);
  const { status, last_error } = assistant ?? {};
  if (status !== 'FAILED' && status !== 'DELETING') return EXIT.ok;
  const reason = status === 'DELETING' ? 'the migration assistant is being deleted' : last_error;
  note(`provisioning failed: ${reason || 'the service gives no reason'}`);
  return EXIT.failed;
}

async function deleteAssistant(target: ClusterTarget<'cloud'>, options: Options): Promise<void> {
  await confirm(target, 'delete the migration assistant', options.yes);
  await printAssistant(await target.api.deleteAssistant(target.stats, assistantDetails), options);
}

const COLORS: Readonly<Record<string, Style>> = { RUNNING: 'green', FAILED: 'red' };

/** Prints it with the names of the API; the password only with `--show-password`. */
async function printAssistant(assistant: Assistant | undefined, options: Options) {
  // The service may answer a change with no more than a status.
  if (assistant === undefined) {
    note('done: the service accepted it without details; see `cloud assistant get`');
    return;
  }
  const { output, showPassword } = options;
  const isHidden = !showPassword && assistant.password !== '';
  const shown = isHidden ? { ...assistant, password: HIDDEN } : assistant;
  if (output !== 'table') return writeJson(shown, output);
  const rows = Object.entries(shown)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => [name.replaceAll('_', ' '), value]);
  const columns = [
    { title: 'FIELD' },
    { title: 'VALUE', style: (value: Value) => COLORS[value ?? ''] },
  ];
  await printTable(columns, rows);
}

/**
 * Polls until the assistant is running or has failed. Transient failures (a lost connection, 429, 5xx) are retried; Ctrl-C
 * ends the waiting, not the provisioning.
 */
async function waitUntilRunning(target: ClusterTarget<'cloud'>, first: Assistant | undefined) {
  const startedAt = performance.now();
  let current = first;
  const hideProgress = showProgress('migration assistant', () => {
    const age = formatAge((performance.now() - startedAt) / 1000);
    return `${formatLine(current?.status ?? 'requested')}  ${age}`;
  });
  try {
    while (!FINAL_STATUSES.has(current?.status ?? '')) {
      await target.sleep(POLL_MS);
      const found = await pollAssistant(target);
      if (found !== undefined) current = found;
    }
    return current;
  } catch (error) {
    hideProgress();
    if (!(error instanceof CommandError)) {
      note('no longer waiting; provisioning continues: see `cloud assistant get`');
    }
    throw error;
  } finally {
    hideProgress();
  }
}

/** The assistant now; undefined after a transient failure. */
async function pollAssistant({ api, config, stats }: ClusterTarget<'cloud'>) {
  try {
    const found = await api.assistant(stats, assistantDetails);
    if (found !== undefined) return found;
  } catch (error) {
    const isTransient = error instanceof RequestError && !PERMANENT_STATUSES.has(error.status ?? 0);
    if (!isTransient || stats.signal.aborted) throw error;
    note(`${diagnose(error, GET_ASSISTANT, config).cause}; retrying`);
    return undefined;
  }
  throw new CommandError('the migration assistant was deleted meanwhile');
}
