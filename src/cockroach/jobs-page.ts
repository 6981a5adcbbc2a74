import { type Infer, object, type ObjectShape } from '../json/index.ts';
import type { PageRequest } from './read-page.ts';

/** How jobs are listed: of all users with the privilege VIEWJOB, else those of the user. */
export interface JobsRequest<S extends ObjectShape> {
  /** The newest ones. */
  readonly limit: number;
  /** Only jobs with exactly this status. */
  readonly status?: string;
  readonly shape: S;
  /** `dateMs` is the Date header of the response. */
  readonly onJob: (job: Infer<S>, dateMs: number | undefined) => void;
}

/** The request of the list, which is one response. */
export function jobsPage<S extends ObjectShape>({ limit, status, shape, onJob }: JobsRequest<S>) {
  let dateMs: number | undefined;
  return {
    endpoint: 'jobs',
    path: `/_admin/v1/jobs?limit=${limit}${status === undefined ? '' : `&status=${status}`}`,
    isBesideApi: true,
    sendsCookie: true,
    list: 'jobs',
    element: shape,
    envelope: object({}),
    onHeaders: (response) => void ({ dateMs } = response),
    onElement: (job) => onJob(job, dateMs),
  } satisfies PageRequest<S, ReturnType<typeof object>>;
}
