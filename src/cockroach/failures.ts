import { RequestError } from '../http/errors.ts';

/** The HTTP status of a failed request; undefined where no response came, and for other errors. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof RequestError ? error.status : undefined;
}
