import { describe, expect, test } from 'vitest';
import { type RequestError, toRequestError, wasNotSent } from '../../src/http/errors.ts';

/** The failure of a request that ends with this code of the system, of TLS or of undici. */
function failWith(code: string): RequestError {
  return toRequestError(Object.assign(new Error('failed'), { code }), 'nodes');
}

describe('a failure with the code', () => {
  test.each([
    ['ETIMEDOUT', 'timeout', 'url'],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout', 'url'],
    ['ECONNREFUSED', 'network', 'url'],
    ['ENOTFOUND', 'network', 'url'],
    ['UND_ERR_PRX_CONN', 'network', 'url'],
    ['UND_ERR_ABORTED', 'network', 'url'],
    ['ECONNRESET', 'network', 'endpoint'],
    ['UND_ERR_SOCKET', 'network', 'endpoint'],
    ['CERT_HAS_EXPIRED', 'tls', 'url'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls', 'url'],
    ['CERT_REVOKED', 'tls', 'url'],
    ['INVALID_PURPOSE', 'tls', 'url'],
    ['UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY', 'tls', 'url'],
    ['EPROTO', 'tls', 'url'],
    ['UND_ERR_HEADERS_OVERFLOW', 'limit', 'none'],
    ['Z_DATA_ERROR', 'decode', 'none'],
    ['ERR_PADDING_2', 'decode', 'none'],
    ['ERR__ERROR_FORMAT_PADDING_1', 'decode', 'none'],
    ['ERR_INVALID_ARG_TYPE', 'other', 'none'],
  ])('%s has the reason %s and is about: %s', (code, reason, scope) => {
    expect(failWith(code)).toMatchObject({
      reason,
      scope,
      message: expect.stringContaining(`(${code})`),
    });
  });
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
  expect(wasNotSent(failWith(code))).toBe(notSent);
});
