import type { ServerResponse } from 'node:http';
import { sendText } from './text.ts';

const RETRY_AFTER_SECONDS = 1;

/** Lets so many answers be under way at a time; false when it has answered 503 itself. 0: any number. */
export function createGate(most: number): (response: ServerResponse) => boolean {
  let underWay = 0;
  return (response) => {
    if (most > 0 && underWay >= most) {
      const text = 'too many scrapes at a time; see --web.max-requests\n';
      sendText(response, 503, text, { 'retry-after': String(RETRY_AFTER_SECONDS) });
      return false;
    }
    underWay += 1;
    response.on('close', () => {
      underWay -= 1;
    });
    return true;
  };
}
