import type { Answer } from '../http/answer.ts';

/** gRPC codes and the HTTP statuses they become. */
const STATUSES = {
  invalid: { code: 3, status: 400 },
  notFound: { code: 5, status: 404 },
  exists: { code: 6, status: 409 },
  forbidden: { code: 7, status: 403 },
  throttled: { code: 8, status: 429 },
  unauthenticated: { code: 16, status: 401 },
} as const;

/** An error of the control plane: pretty-printed JSON with the gRPC code. */
export function cloudError(kind: keyof typeof STATUSES, message: string): Answer {
  const { code, status } = STATUSES[kind];
  return {
    status,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code, message, details: [] }, undefined, 2),
  };
}

export function cloudAnswer(value: object): Answer {
  return {
    status: 200,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(value),
  };
}
