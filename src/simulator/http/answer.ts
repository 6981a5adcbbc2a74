/** What a handler answers; a body given in pieces is produced while it is sent. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Iterable<string>;
}

/** silence: the request is never answered; reset: the connection is torn down. */
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

/** The one answer to every unexpected failure. */
export function internalError(): Answer {
  return textAnswer(500, INTERNAL_ERROR);
}

/** What a value that JSON cannot hold leads to: the status is out before the body fails. */
export function unencodableAnswer(): Answer {
  return jsonAnswer(200, `${INTERNAL_ERROR}\n`);
}

/** What the router says to a path it does not know. */
export function unknownPath(): Answer {
  return textAnswer(404, '404 page not found');
}
