import { jsonAnswer, textAnswer, type Reply } from '../http/answer.ts';
import type { Account } from '../options.ts';
import { encodeJson, NO_TIME, timeText } from '../wire/encoding.ts';
import { countsAsLive } from '../world/nodes.ts';
import type { WorldState } from '../world/state.ts';
import { goInteger } from './page.ts';
import {
  callerOfCookie,
  hasPrivilege,
  isRefusal,
  type ClusterRequest,
  type ClusterServer,
} from './request.ts';

interface Job {
  readonly type: string;
  readonly username: string;
  readonly description: string;
  readonly status: 'running' | 'paused' | 'failed' | 'succeeded';
  readonly createdMs: number;
  readonly finishedMs?: number;
  readonly fraction: number;
  readonly error?: string;
  /** What it does, while it runs. */
  readonly running?: string;
  /** 0: no node runs it. */
  readonly nodeId: number;
}

const HOUR_MS = 3_600_000;

/** GET /_admin/v1/jobs of the old mux: the newest first; without VIEWJOB those of the user. */
export function listJobs(server: ClusterServer, request: ClusterRequest): Reply {
  const caller: Account | Reply = callerOfCookie(server, request);
  if (typeof caller === 'string' || isRefusal(caller)) return caller;
  const limit = goInteger(request.query.get('limit') ?? '0');
  if (limit === undefined) return textAnswer(400, 'parsing "limit": invalid syntax');
  const status = request.query.get('status') ?? '';
  const seen = jobsOf(server.world.state)
    .map((job, index) => ({ job, id: String(1_000_000_000_000_000_000n + BigInt(index)) }))
    .filter(({ job }) => status === '' || job.status === status)
    .filter(({ job }) => hasPrivilege(caller, 'VIEWJOB') || job.username === caller.name)
    .toSorted((a, b) => b.job.createdMs - a.job.createdMs);
  const jobs = seen.slice(0, limit > 0 ? limit : undefined).map(({ job, id }) => toJson(job, id));
  return jsonAnswer(200, encodeJson({ jobs, earliestRetainedTime: NO_TIME }));
}

/** The running changefeeds and backup, what is paused, and what failed. */
export function jobsOf(state: WorldState): readonly Job[] {
  const [first, second = first] = [...state.nodes.values()].filter(countsAsLive);
  const job = (type: string, more: Partial<Job>): Job => ({
    type: type.toUpperCase().replaceAll('_', ' '),
    username: 'root',
    description: `${type} of movr`,
    status: 'running',
    createdMs: state.startMs - 24 * HOUR_MS,
    fraction: 0,
    nodeId: first?.id ?? 0,
    ...more,
  });
  return [
    job('changefeed', { description: 'CREATE CHANGEFEED FOR TABLE movr.public.rides' }),
    job('changefeed', {
      description: 'CREATE CHANGEFEED FOR TABLE movr.public.users',
      ...(state.changefeedError && { running: `retryable error: ${state.changefeedError.text}` }),
    }),
    job('backup', {
      status: 'succeeded',
      createdMs: state.startMs - HOUR_MS,
      finishedMs: state.startMs - HOUR_MS / 2,
      fraction: 1,
      nodeId: second?.id ?? 0,
    }),
    ...Array.from(state.pausedJobs, ([type, sinceMs]) =>
      job(type, { status: 'paused', createdMs: sinceMs, nodeId: 0 }),
    ),
    ...state.failedJobs.map((failed) =>
      job(failed.job, {
        status: 'failed',
        createdMs: failed.failedAtMs - 60_000,
        finishedMs: failed.failedAtMs,
        error: failed.error,
        nodeId: failed.nodeId,
      }),
    ),
  ];
}

/** As jsonpb writes it: camelCase, zeros included, int64 as strings. */
function toJson(job: Job, id: string): object {
  return {
    id,
    type: job.type,
    description: job.description,
    statement: job.description,
    username: job.username,
    descriptorIds: [],
    status: job.status,
    created: timeText(job.createdMs),
    started: timeText(job.createdMs + 1000),
    finished: job.finishedMs === undefined ? null : timeText(job.finishedMs),
    modified: timeText(job.finishedMs ?? job.createdMs),
    fractionCompleted: job.fraction,
    error: job.error ?? '',
    highwaterTimestamp: null,
    highwaterDecimal: '',
    runningStatus: job.running ?? '',
    lastRun: null,
    nextRun: null,
    numRuns: '0',
    coordinatorId: String(job.nodeId),
  };
}
