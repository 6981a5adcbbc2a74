import type { RequestListener, ServerResponse } from 'node:http';
import { clientNetwork, firstOfLargest } from './client-network.ts';
import { SENDING } from './response-events.ts';

/** Answers that clients have not taken yet. */
const MAX_SENDING = 100;

interface Sending {
  readonly response: ServerResponse;
  readonly network: string;
}

/**
 * Cuts off every answer that its client does not take within `sendMs`. When too many wait for their clients, that of the
 * client with most of them goes which has made no progress for the longest time: slow clients cost neither memory without
 * end nor the answers of others.
 */
export function limitSending(handler: RequestListener, sendMs: number): RequestListener {
  /** The longest without progress first. */
  const sending = new Map<ServerResponse, Sending>();

  function watch(one: Sending): void {
    const { response } = one;
    if (sending.has(response) || response.closed) return;
    const cutOff = setTimeout(() => response.destroy(), sendMs).unref();
    sending.set(response, one);
    response.on('drain', () => {
      if (sending.delete(response)) sending.set(response, one);
    });
    response.on('close', () => {
      clearTimeout(cutOff);
      sending.delete(response);
    });
    if (sending.size > MAX_SENDING) cutOne();
  }

  function cutOne(): void {
    const cut = firstOfLargest(sending.values());
    if (cut === undefined) return;
    sending.delete(cut.response);
    cut.response.destroy();
  }

  return (request, response) => {
    const one = { response, network: clientNetwork(request.socket.remoteAddress) };
    response.once(SENDING, () => watch(one));
    // Emitted when all of the answer has been handed to the socket.
    response.once('prefinish', () => watch(one));
    handler(request, response);
  };
}
