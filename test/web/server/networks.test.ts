import { IncomingMessage, ServerResponse } from 'node:http';
import net from 'node:net';
import { describe, expect, test } from 'vitest';
import { SENDING } from '../../../src/web/respond.ts';
import { clientNetwork, firstOfLargest } from '../../../src/web/server/connections.ts';
import { createFairQueue, createUnsentLimit } from '../../../src/web/server/limits.ts';
import { until } from '../orchard.ts';

test.each([
  [undefined, ''],
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['::FFFF:10.0.0.1', '10.0.0.1'],
  ['1::ffff:10.0.0.1', '1:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['1::2:3:4:5:6', '1:0:0:2::/64'],
  ['1:2:3::', '1:2:3:0::/64'],
  ['1:2:3:4:5:6:7:8', '1:2:3:4::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('the client with the address %s is %s', (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});

test('the first of the client with the most is found, of the first of equal ones', () => {
  const items = ['a', 'b', 'b', 'c', 'c'].map((network, at) => ({ network, at }));
  expect(firstOfLargest(items)).toEqual({ network: 'b', at: 1 });
  expect(firstOfLargest([])).toBeUndefined();
});

test('between two tasks of the fair queue the event loop makes twenty turns', async () => {
  const enqueue = createFairQueue();
  const turnsAt: number[] = [];
  let turns = 0;
  const count = (): void => {
    turns += 1;
    if (turnsAt.length < 2) setImmediate(count);
  };
  setImmediate(count);
  for (const client of ['a', 'b']) enqueue(client, () => turnsAt.push(turns));
  await until(() => turnsAt.length === 2);
  expect(turnsAt).toEqual([0, 20]);
});

/** Responses of clients with these addresses, each watched from its first byte or from its last. */
function unsent(...addresses: readonly string[]): readonly ServerResponse[] {
  const limit = createUnsentLimit(60_000);
  return addresses.map((address, at) => {
    const socket = Object.defineProperty(new net.Socket(), 'remoteAddress', { value: address });
    const response = new ServerResponse(new IncomingMessage(socket));
    limit(response);
    response.emit(at % 2 === 0 ? SENDING : 'prefinish');
    return response;
  });
}

function destroyed(responses: readonly ServerResponse[]): readonly number[] {
  return responses.flatMap((response, at) => (response.destroyed ? at : []));
}

describe('responses that clients have not taken', () => {
  test('are a hundred at most', () => {
    expect(destroyed(unsent(...Array.from({ length: 100 }, () => 'a')))).toEqual([]);
    expect(destroyed(unsent(...Array.from({ length: 102 }, () => 'a')))).toEqual([0, 1]);
  });

  test('cost the client with the most of them', () => {
    const addresses = Array.from({ length: 102 }, (_, at) => (at < 40 ? 'a' : 'b'));
    expect(destroyed(unsent(...addresses))).toEqual([40, 41]);
  });

  test('count no longer when they are closed, and later when they make progress', () => {
    const limit = createUnsentLimit(60_000);
    const add = (): ServerResponse => {
      const response = new ServerResponse(new IncomingMessage(new net.Socket()));
      limit(response);
      response.emit(SENDING);
      return response;
    };
    const responses = Array.from({ length: 100 }, add);
    responses[7]?.emit('close');
    // It is over: progress does not bring it back.
    responses[7]?.emit('drain');
    responses.push(add());
    expect(destroyed(responses)).toEqual([]);
    responses[0]?.emit('drain');
    responses.push(add());
    expect(destroyed(responses)).toEqual([1]);
  });
});
