import { describe, expect, test } from 'vitest';
import {
  codeOf,
  RequestError,
  statusError,
  toRequestError,
} from '../../../src/cockroach/http/errors.ts';
import { pauseSeconds } from '../../../src/cockroach/http/retry-policy.ts';
import { JsonError, JsonLimitError } from '../../../src/json/index.ts';

/** The failure of a request that ends with this code of the system, of TLS or of undici. */
function failWith(code: string, message = 'failed'): RequestError {
  return toRequestError(Object.assign(new Error(message), { code }), 'nodes');
}

/** All that is told about a failure. */
function told({ reason, blames, message, status, retryAfterSeconds, serverText }: RequestError) {
  return { reason, blames, message, status, retryAfterSeconds, serverText };
}

const NOTHING_MORE = { status: undefined, retryAfterSeconds: undefined, serverText: '' };

describe('a failure with the code', () => {
  test.each([
    ['ETIMEDOUT', 'timeout', 'url'],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout', 'url'],
    ['EADDRNOTAVAIL', 'network', 'url'],
    ['EAI_AGAIN', 'network', 'url'],
    ['ECONNREFUSED', 'network', 'url'],
    ['EHOSTDOWN', 'network', 'url'],
    ['EHOSTUNREACH', 'network', 'url'],
    ['ENETDOWN', 'network', 'url'],
    ['ENETUNREACH', 'network', 'url'],
    ['ENOENT', 'network', 'url'],
    ['ENOTFOUND', 'network', 'url'],
    ['PROXY_REFUSED', 'network', 'url'],
    ['ECONNABORTED', 'network', 'endpoint'],
    ['ECONNRESET', 'network', 'endpoint'],
    ['EMFILE', 'network', 'endpoint'],
    ['ENFILE', 'network', 'endpoint'],
    ['EPIPE', 'network', 'endpoint'],
    ['UND_ERR_SOCKET', 'network', 'endpoint'],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'network', 'endpoint'],
    ['CERT_HAS_EXPIRED', 'tls', 'url'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls', 'url'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls', 'url'],
    ['CERT_REVOKED', 'tls', 'url'],
    ['CRL_HAS_EXPIRED', 'tls', 'url'],
    ['INVALID_CA', 'tls', 'url'],
    ['INVALID_PURPOSE', 'tls', 'url'],
    ['UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY', 'tls', 'url'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls', 'url'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls', 'url'],
    ['HOSTNAME_MISMATCH', 'tls', 'url'],
    ['PATH_LENGTH_EXCEEDED', 'tls', 'url'],
    ['EPROTO', 'tls', 'url'],
    ['UND_ERR_HEADERS_OVERFLOW', 'limit', 'nobody'],
    ['ERR_INVALID_ARG_TYPE', 'other', 'nobody'],
    // Codes that only hold a known one.
    ['EPROTONOSUPPORT', 'other', 'nobody'],
    ['ENOENT_2', 'other', 'nobody'],
    ['ERR_Z_DATA', 'other', 'nobody'],
  ])('%s has the reason %s and is about: %s', (code, reason, blames) => {
    const message = `nodes: failed (${code})`;
    expect(told(failWith(code))).toEqual({ ...NOTHING_MORE, reason, blames, message });
  });

  test.each(['Z_DATA_ERROR', 'ERR_PADDING_2', 'ERR__ERROR_FORMAT_PADDING_1'])(
    '%s is that of a broken compressed answer',
    (code) => {
      const message = `nodes: broken gzip (failed (${code}))`;
      const expected = { ...NOTHING_MORE, reason: 'decode', blames: 'nobody', message };
      expect(told(failWith(code))).toEqual(expected);
    },
  );
});

test.each([
  ['ECONNREFUSED', true],
  ['UND_ERR_CONNECT_TIMEOUT', true],
  ['CERT_HAS_EXPIRED', true],
  // A connection in use may end with these, too.
  ['ETIMEDOUT', false],
  ['UND_ERR_ABORTED', false],
  ['ECONNRESET', false],
])('a request that failed with %s was surely not sent: %s', (code, notSent) => {
  expect(failWith(code).wasNotSent).toBe(notSent);
});

test('a request that a breaker kept back was surely not sent', () => {
  expect(new RequestError('breaker_open', 'x').wasNotSent).toBe(true);
  expect(new RequestError('timeout', 'x').wasNotSent).toBe(false);
});

test('a deadline of ours is told from that of the system and from that of a gateway', () => {
  const over = toRequestError(new DOMException('x', 'TimeoutError'), 'nodes');
  const failures = [over, failWith('ETIMEDOUT'), failWith('EPIPE')];
  expect(failures.map(({ late }) => late)).toEqual(['poll', undefined, undefined]);
  const [gateway, refused, ofUrl] = [
    statusError(504, 'x', { node: 0 }),
    statusError(502, 'x', { node: 0 }),
    statusError(504, 'x', {}),
  ];
  expect([gateway.isNodeTimeout, refused.isNodeTimeout, ofUrl.isNodeTimeout]).toEqual([
    true,
    false,
    false,
  ]);
});

describe('the message of a failure', () => {
  test.each([
    ['', 'X', 'failed (X)'],
    ['', '', 'failed'],
    ['no', '', 'no'],
    ['connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1'],
    [
      'unknown CA; if the root CA is installed locally, try running Node.js with --x',
      'X',
      'unknown CA (X)',
    ],
    ['80F2:error:0A00010B:SSL routines:tls:bad thing:../ssl/x.c:354:\n', 'X', 'bad thing (X)'],
    ['at 80F2:error:0A0:a:b:bad thing:x.c:1:', '', 'at 80F2:error:0A0:a:b:bad thing:x.c:1:'],
    ['80F2:error:0A0:a:b:wrong version number:x.c:1:', '', 'the port does not speak TLS'],
    ['tlsv1 alert no application protocol', '', 'the port does not speak HTTP'],
    ['ssl/tls alert handshake failure', '', 'the server refused the TLS handshake'],
    ['a wrong version number', '', 'a wrong version number'],
    ['wrong version number 3', '', 'wrong version number 3'],
    ['a tlsv1 alert no application protocol', '', 'a tlsv1 alert no application protocol'],
    ['tlsv1 alert no application protocol 3', '', 'tlsv1 alert no application protocol 3'],
    ['a ssl/tls alert handshake failure', '', 'a ssl/tls alert handshake failure'],
    ['ssl/tls alert handshake failure 3', '', 'ssl/tls alert handshake failure 3'],
  ])('%j with the code %j is %j', (message, code, expected) => {
    expect(failWith(code, message).message).toBe(`nodes: ${expected}`);
  });

  test('to connect to a host with several addresses has each of them', () => {
    const refused = ['connect ECONNREFUSED ::1:8080', 'connect ECONNREFUSED 127.0.0.1:8080'].map(
      (text) => Object.assign(new Error(text), { code: 'ECONNREFUSED' }),
    );
    const { message, reason } = toRequestError(new AggregateError(refused), 'nodes');
    expect([message, reason]).toEqual([
      'nodes: connect ECONNREFUSED ::1:8080, connect ECONNREFUSED 127.0.0.1:8080',
      'network',
    ]);
  });

  test('of what is no error says as much', () => {
    const expected = {
      ...NOTHING_MORE,
      reason: 'other',
      blames: 'nobody',
      message: 'nodes: failed',
    };
    expect(told(toRequestError('text', 'nodes'))).toEqual(expected);
  });
});

describe('the failure that comes of', () => {
  test('a failure is that failure', () => {
    const failure = new RequestError('http', 'x');
    expect(toRequestError(failure, 'nodes')).toBe(failure);
    expect([String(failure), failure.cause]).toEqual(['RequestError: x', undefined]);
  });

  test.each([
    [JsonError, 'decode'],
    [JsonLimitError, 'limit'],
  ] as const)('an unreadable answer has the reason of its error', (OddError, reason) => {
    const cause = new OddError(7, 'odd');
    const failure = toRequestError(cause, 'nodes');
    const message = 'nodes: odd (at byte 7 of the document)';
    expect(told(failure)).toEqual({ ...NOTHING_MORE, reason, blames: 'nobody', message });
    expect(failure.cause).toBe(cause);
  });

  test('the end of a poll is a timeout', () => {
    const cause = new DOMException('x', 'TimeoutError');
    const failure = toRequestError(cause, 'nodes');
    const message = 'nodes: poll timeout exceeded';
    const expected = { ...NOTHING_MORE, reason: 'timeout', blames: 'endpoint', message };
    expect(told(failure)).toEqual(expected);
    expect(failure.cause).toBe(cause);
  });

  test.each([
    ['HTTPParserError', 'Expected HTTP/, RTSP/ or ICE/', 'NOT_HTTP'],
    ['HTTPParserError', 'odd', 'BROKEN_HTTP'],
    ['AssertionError', 'odd', 'BROKEN_HTTP'],
  ])('%s: %s says that it is not HTTP', (name, problem, code) => {
    const error = Object.assign(new Error(problem), { name });
    const failure = toRequestError(error, 'nodes');
    const message = `nodes: the response is not HTTP: ${problem}`;
    const expected = { ...NOTHING_MORE, reason: 'network', blames: 'endpoint', message };
    expect(told(failure)).toEqual(expected);
    expect(failure.cause).toMatchObject({ message: 'not HTTP', code });
    expect(codeOf(failure)).toBe(code);
  });
});

describe('a code', () => {
  /** An error with the code, behind this many others. */
  const behind = (others: number): Error =>
    others === 0
      ? Object.assign(new Error('x'), { code: 'FOUND' })
      : Object.assign(new Error('x', { cause: behind(others - 1) }), { code: others });

  test.each([
    [0, 'FOUND'],
    [4, 'FOUND'],
    [5, ''],
  ])('behind %i other errors: %j', (others, code) => {
    expect(codeOf(behind(others))).toBe(code);
  });

  test('is that of the first address of a host', () => {
    expect(codeOf(new AggregateError([behind(1), new Error('x')]))).toBe('FOUND');
    expect([codeOf(undefined), codeOf({ code: 'X' })]).toEqual(['', '']);
  });
});

describe('the status', () => {
  const NOT_OFFERED = ' (not offered by this server)';
  const REDIRECT = ' (a redirect, not followed)';

  test.each([
    [300, 'http', 'nobody', REDIRECT],
    [304, 'http', 'nobody', ' (not modified)'],
    [399, 'http', 'nobody', REDIRECT],
    [400, 'http', 'nobody', ''],
    [401, 'auth', 'nobody', ' (the session or token was not accepted)'],
    [403, 'forbidden', 'nobody', ' (the user lacks a privilege)'],
    [404, 'not_available', 'nobody', ' (no such thing here)'],
    [429, 'http', 'nobody', ''],
    [500, 'http', 'nobody', ''],
    [501, 'not_available', 'nobody', NOT_OFFERED],
    [502, 'http', 'endpoint', ''],
    [503, 'http', 'endpoint', ''],
    [504, 'http', 'endpoint', ''],
    [505, 'http', 'nobody', ''],
  ])(
    '%i has the reason %s, is about: %s, and has the hint "%s"',
    (status, reason, blames, hint) => {
      const isLasting = [401, 403, 404, 501].includes(status);
      const details = { retryAfterSeconds: 7, serverText: 'session token' };
      const message = `nodes: HTTP ${status}${hint}`;
      const failure = statusError(status, 'nodes', details);
      expect(told(failure)).toEqual({ reason, blames, message, status, ...details });
      expect(pauseSeconds(failure)).toBe(isLasting ? undefined : 7);
      const isNode = status === 502;
      expect(statusError(status, 'nodes', { proxied: true }).blames).toBe(
        isNode ? 'nobody' : blames,
      );
    },
  );

  test.each([
    ['login', 400, 'auth', ' (the login was refused)'],
    ['login', 401, 'auth', ' (user and password were not accepted)'],
    ['login', 429, 'http', ''],
    ['login', 500, 'http', ''],
  ] as const)('of the %s, %i: %s, with the hint "%s"', (endpoint, status, reason, hint) => {
    const message = `x: HTTP ${status}${hint}`;
    expect(statusError(status, 'x', { endpoint })).toMatchObject({ reason, message });
  });
});
