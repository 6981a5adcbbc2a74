/** A response; a body in pieces is produced while it is sent. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | Iterable<string>;
}

/** silence: no response ever; reset: the connection is reset. */
export type Reply = Answer | 'silence' | 'reset';

/** An error as Go's http.Error writes it. */
export function textAnswer(status: number, message: string): Answer {
  return {
    status,
    headers: {
      'Content-Type': 'text/plain; charset=utf-8',
      'X-Content-Type-Options': 'nosniff',
      'Cache-control': 'no-cache',
    },
    body: `${message}\n`,
  };
}

export function jsonAnswer(status: number, body: string | Iterable<string>): Answer {
  return {
    status,
    headers: { 'Content-Type': 'application/json', 'Cache-control': 'no-cache' },
    body,
  };
}

const INTERNAL_ERROR =
  'An internal server error has occurred. Please check your CockroachDB logs for more details.';

/** The response to every unexpected failure. */
export function internalError(): Answer {
  return textAnswer(500, INTERNAL_ERROR);
}

/** A value that JSON cannot encode: the status is sent before the body fails. */
export function unencodableAnswer(): Answer {
  return jsonAnswer(200, `${INTERNAL_ERROR}\n`);
}

/** The response of the router to an unknown path. */
export function unknownPath(): Answer {
  return textAnswer(404, '404 page not found');
}
