import { expect, test } from 'vitest';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { ask, connect } from '../../support/http-client.ts';
import { serve } from '../../support/http-server.ts';

/** How a request fails at a server that answers so. */
async function fail(status: number, text: string, sentToken: boolean): Promise<RequestError> {
  await using server = await serve((_request, response) => response.writeHead(status).end(text));
  await using client = connect([server.url], { random: () => 0 });
  const failure: unknown = await ask(client, { sentToken }).catch((error: unknown) => error);
  if (failure instanceof RequestError) return failure;
  throw new Error('the request did not fail');
}

test.each([
  [true, 'illegal base64 data at input byte 4', 'auth', ' (the token was not understood)'],
  [true, 'invalid session header', 'auth', ' (the token was not understood)'],
  [true, 'bad Token', 'auth', ' (the token was not understood)'],
  [true, 'bad limit', 'http', ''],
  [true, '', 'http', ''],
  [false, 'illegal base64 data at input byte 4', 'http', ''],
  [false, 'invalid session', 'http', ''],
])('a 400 with a token: %s, with the text "%s", is %s', async (sentToken, text, reason, hint) => {
  const failure = await fail(400, text, sentToken);
  expect(failure.reason).toBe(reason);
  expect(failure.message).toMatch(/^nodes at 127\.0\.0\.1:\d+: HTTP 400/);
  expect(failure.message.replace(/^.*HTTP 400/, '')).toBe(hint);
});

test.each([200, 299])('a %i is a success', async (status) => {
  await using server = await serve((_request, response) => response.writeHead(status).end('{}'));
  await using client = connect([server.url]);
  expect(await ask(client)).toBe('{}');
});
