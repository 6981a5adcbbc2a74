import path from 'node:path';
import { hashSync } from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import { makeFolder } from '../../config/folder.ts';
import { fetchPath, type RequestOptions } from '../routes/fetch-path.ts';
import { startOrchard, until } from '../routes/orchard.ts';

/** Slow enough that guesses wait for each other, and quick enough for a test. */
const HASH = hashSync('secret', 5);
const WEB_CONFIG = `basic_auth_users: { ops: "${HASH}" }\n`;

function basic(credentials: string): RequestOptions {
  return { headers: { authorization: `Basic ${btoa(credentials)}` } };
}

interface Guessing extends AsyncDisposable {
  /** Answers that the guessers have had so far, by status. */
  readonly answers: ReadonlyMap<number, number>;
}

/** Guesses without a pause, `count` guesses at a time from each of the addresses, each with a new password. */
function guess(url: string, addresses: readonly (string | undefined)[], count: number): Guessing {
  const over = new AbortController();
  const answers = new Map<number, number>();
  const guessers = addresses.flatMap((localAddress, at) =>
    Array.from({ length: count }, async (_, guesser) => {
      for (let round = 0; !over.signal.aborted; round += 1) {
        const options = { ...basic(`ops:${at}-${guesser}-${round}`), localAddress };
        const { status } = await fetchPath(url, '/', options);
        answers.set(status, (answers.get(status) ?? 0) + 1);
      }
    }),
  );
  return {
    answers,
    async [Symbol.asyncDispose]() {
      over.abort();
      await Promise.all(guessers);
    },
  };
}

/** Right after the start: what somebody with the right password is answered while others guess. */
async function statusDuringGuesses(
  address: string,
  addresses: readonly (string | undefined)[],
  count: number,
): Promise<number> {
  const { url } = await startOrchard({
    webConfig: WEB_CONFIG,
    flags: { 'web.listen-address': [address] },
  });
  await using guessing = guess(url, addresses, count);
  await until(() => (guessing.answers.get(401) ?? 0) >= 5);
  return (await fetchPath(url, '/', basic('ops:secret'))).status;
}

/** The right login is drawn at random among the guesses: on a busy machine that may take half a minute. */
const timeout = 600_000;

describe(
  'while others guess passwords, the first login with the right one succeeds',
  { timeout },
  () => {
    test('against guesses from 20 other addresses', async () => {
      const addresses = Array.from({ length: 20 }, (_, host) => `127.0.0.${host + 2}`);
      expect(await statusDuringGuesses('127.0.0.1:0', addresses, 5)).toBe(200);
    });

    test.each([60])('against %d guesses at a time from the same address', async (count) => {
      expect(await statusDuringGuesses('127.0.0.1:0', [undefined], count)).toBe(200);
    });

    test('on a unix socket, where everybody has the same address', async () => {
      const socket = path.join(await makeFolder(), 'exporter.sock');
      expect(await statusDuringGuesses(`unix:${socket}`, [undefined], 10)).toBe(200);
    });
  },
);
