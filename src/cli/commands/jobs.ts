import type { Command } from 'commander';
import { formatAge, formatCount, formatPercent, toTime } from '#base';
import { grantee, type Operation } from '#cockroach';
import { type Infer, nameText, number, object, string, time } from '#json';
import { addClusterAction, type ClusterTarget } from '../cluster-target.ts';
import { addExamples, type CommandContext } from '../command.ts';
import { addListingOptions, type ListingOptions, openListing } from '../output/listing.ts';
import { note } from '../output/standard-output.ts';
import { type Column, numberColumn, type Style } from '../output/table.ts';

/** More than an operator reads; the newest ones. */
const MAX_JOBS = 1000;

const OPERATION: Operation & { readonly api: 'cluster' } = {
  name: 'jobs',
  api: 'cluster',
  privilege: 'GRANT SYSTEM VIEWJOB',
};

interface Options extends ListingOptions {
  readonly failed?: true;
  readonly paused?: true;
}

/** A job as jsonpb writes it: camelCase, integers of 64 bits as strings. Releases differ in their members. */
const jobShape = object({
  id: string(),
  type: nameText(),
  status: nameText(),
  username: nameText(),
  description: string(),
  created: time(),
  started: time(),
  finished: time(),
  modified: time(),
  fractionCompleted: number(),
  runningStatus: string(),
  error: string(),
  coordinatorId: string(),
});

type Job = ReturnType<typeof toJob>;

/** What needs somebody first: the first text that the status begins with. */
const URGENCIES: readonly (readonly [status: string, urgency: number, style?: Style])[] = [
  ['revert-failed', 5, 'red'],
  ['failed', 4, 'red'],
  ['pause', 3, 'yellow'],
  ['revert', 2, 'yellow'],
  ['retry', 2, 'yellow'],
  ['cancel-requested', 2, 'yellow'],
  ['running', 1, 'green'],
  ['pending', 1],
];

/** The most important first: a narrow terminal hides the last. */
const COLUMNS: readonly Column<Job>[] = [
  // PAUSE JOB and its like take a whole id.
  { title: 'ID', value: ({ id }) => id },
  { title: 'TYPE', value: ({ type }) => type, shrinks: true },
  {
    title: 'STATUS',
    value: ({ status }) => status,
    style: (status) => urgencyOf(String(status))[2],
  },
  numberColumn('AGE', formatAge, ({ age_seconds: age }) => age),
  numberColumn('PROGRESS', formatPercent, ({ fraction_completed: fraction }) => fraction),
  { title: 'NODE', value: ({ node_id: nodeId }) => nodeId },
  {
    title: 'ERROR',
    value: ({ error, running_status: running }) => error ?? running,
    shrinks: true,
  },
  { title: 'USER', value: ({ username }) => username, shrinks: true },
  { title: 'DESCRIPTION', value: ({ description }) => description, shrinks: true },
];

/** `jobs`: GET /_admin/v1/jobs. */
export function define(command: Command, context: CommandContext): void {
  command
    .option('--failed', 'Only jobs that failed.')
    .option('--paused', 'Only jobs that are paused.');
  addListingOptions(command, COLUMNS);
  addClusterAction(command, context, OPERATION, printJobs);
  addExamples(
    command,
    'jobs --failed --config.file=exporter.yml',
    'jobs --paused --wide --config.file=exporter.yml --cluster prod',
    'jobs --output ndjson --config.file=exporter.yml | jq -r .error',
  );
}

async function printJobs(target: ClusterTarget, options: Options): Promise<void> {
  const listing = openListing<Job>(options, {
    member: 'jobs',
    columns: COLUMNS,
    required: ['TYPE', 'STATUS', 'ERROR'],
    urgencyOf: (job) => (runsWithError(job) ? WITH_ERROR : urgencyOf(job.status)[1]),
  });
  const nowMs = Date.now();
  const owners = new Set<string>();
  const { failed, paused } = options;
  const chosen = [...(failed ? ['failed', 'revert-failed'] : []), ...(paused ? ['paused'] : [])];
  const read = async (status: string | undefined, onJob: (job: Job) => void): Promise<number> => {
    let count = 0;
    await target.api.jobs(target.stats, {
      limit: MAX_JOBS,
      ...(status !== undefined && { status }),
      shape: jobShape,
      onJob(element, dateMs) {
        count += 1;
        owners.add(element.username ?? '');
        onJob(toJob(element, dateMs ?? nowMs));
      },
    });
    return count;
  };
  for (const status of chosen.length === 0 ? [undefined] : chosen) {
    const count = await read(status, (job) => {
      // A server may not know the parameter.
      if (status === undefined || job.status === '' || job.status === status) listing.add(job);
    });
    if (count >= MAX_JOBS)
      note(`only the newest ${formatCount(MAX_JOBS)} jobs; choose with --failed`);
  }
  await listing.close();
  const user = target.config.cluster_api?.username?.toLowerCase();
  const isAlone = (): boolean => user !== undefined && [...owners].every((owner) => owner === user);
  // Whether the user sees the jobs of others, when none of them failed, only all jobs tell.
  if (chosen.length > 0 && isAlone()) await read(undefined, () => undefined);
  if (isAlone()) {
    const grant = `${OPERATION.privilege} TO ${grantee(target.config.cluster_api)};`;
    note(`no job of another user than ${user} is seen: to see them, run ${grant}`);
  }
}

/** Between the paused jobs and those that go back. */
const WITH_ERROR = 2.5;

/**
 * A job that cannot go on runs all the same, and says why: a changefeed by its status (`retryable error: no sink`), others by
 * their error, as a TTL job that is `running` for days.
 */
function runsWithError({ status, running_status: running, error }: Job): boolean {
  if (!/^(running|pending)/.test(status)) return false;
  return error !== null || /\berror\b/i.test(running ?? '');
}

function urgencyOf(status: string): (typeof URGENCIES)[number] {
  return URGENCIES.find(([begin]) => status.startsWith(begin)) ?? [status, 0];
}

/** A job as JSON. `nowMs` is the time of the server where it sent one. */
function toJob(element: Infer<typeof jobShape>, nowMs: number) {
  const { created, fractionCompleted, coordinatorId = '' } = element;
  return {
    id: element.id ?? '',
    type: element.type ?? '',
    status: element.status ?? '',
    username: element.username ?? '',
    description: element.description || null,
    created: toTime(created) ?? null,
    started: toTime(element.started) ?? null,
    finished: toTime(element.finished) ?? null,
    modified: toTime(element.modified) ?? null,
    age_seconds: created === undefined ? null : Math.max(0, nowMs - created) / 1000,
    // 0 also where a job has none, as a changefeed, whose progress is a time.
    fraction_completed: fractionCompleted || null,
    running_status: element.runningStatus || null,
    error: element.error || null,
    // 0 where no node runs it.
    node_id: /^[1-9]\d*$/.test(coordinatorId) ? coordinatorId : null,
  };
}
