import type { RequestListener, ServerResponse } from 'node:http';

/** Answers that clients have not taken yet; one that is taken at once is never among the oldest. */
const MAX_SENDING = 100;

/**
 * Cuts off every answer that its client does not take within `sendMs`, and the oldest one when too many wait for
 * their clients: slow clients cost neither memory without end nor the answers of others.
 */
export function limitSending(handler: RequestListener, sendMs: number): RequestListener {
  const sending = new Set<ServerResponse>();

  function watch(response: ServerResponse): void {
    const cutOff = setTimeout(() => response.destroy(), sendMs).unref();
    sending.add(response);
    response.on('close', () => {
      clearTimeout(cutOff);
      sending.delete(response);
    });
    const [oldest] = sending;
    if (sending.size > MAX_SENDING) oldest?.destroy();
  }

  return (request, response) => {
    // Emitted when all of the answer has been handed to the socket.
    response.once('prefinish', () => watch(response));
    handler(request, response);
  };
}
