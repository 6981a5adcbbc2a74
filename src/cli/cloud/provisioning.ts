import { setTimeout as sleep } from 'node:timers/promises';
import { adviseOn, requestErrorOf } from '../advice.ts';
import { CommandError } from '../exit.ts';
import { writeAge, writeLine } from '../human.ts';
import { startClock } from '../progress.ts';
import { note } from '../standard-output.ts';
import type { Target } from '../target.ts';
import { type Assistant, assistantShape } from './assistant-view.ts';
import { cloudApiOf } from './cloud-target.ts';

const POLL_MS = 2_000;
/** A service that has been out of reach for so long is not going to say more. */
const PATIENCE_MS = 10 * 60_000;
/** What the waiting is for; a status that is not known here is not the end. */
const ENDS = new Set(['RUNNING', 'FAILED']);
/** Failures that asking again does not mend. */
const LASTING = new Set([400, 401, 403]);

/**
 * Asks until the assistant runs or has failed. What may pass (a lost connection, 429, a 5xx) is borne for a while;
 * Ctrl-C ends the waiting, not the provisioning.
 */
export async function waitUntilRunning(
  target: Target,
  first: Assistant | undefined,
): Promise<Assistant> {
  const startedAt = performance.now();
  const clock = await startClock(() => {
    const status = writeLine(current?.status ?? 'requested');
    return `${status}  ${writeAge((performance.now() - startedAt) / 1000)}`;
  });
  let current = first;
  let answeredAt = startedAt;
  try {
    while (current === undefined || !ENDS.has(current.status ?? '')) {
      if (current?.status === 'DELETING')
        throw new CommandError('the migration assistant is being deleted');
      await sleep(POLL_MS, undefined, { signal: target.ending.signal });
      const next = await look(target);
      if (next !== undefined) {
        current = next;
        answeredAt = performance.now();
      } else if (performance.now() - answeredAt > PATIENCE_MS) {
        throw new CommandError(
          `the service has not answered for ${writeAge(PATIENCE_MS / 1000)}; it goes on: see \`cloud assistant get\``,
        );
      }
    }
    return current;
  } catch (error) {
    if (target.ending.signal.aborted) {
      note('not waiting any more; the service goes on: see `cloud assistant get`');
    }
    throw error;
  } finally {
    clock.stop();
  }
}

/** The assistant now; undefined when the service could not be asked this time. */
async function look(target: Target): Promise<Assistant | undefined> {
  try {
    const found = await cloudApiOf(target).assistant(target.reading, assistantShape);
    if (found === undefined) {
      throw new CommandError('the migration assistant is gone: somebody deleted it');
    }
    return found;
  } catch (error) {
    const operation = 'assistant-get';
    const failed = requestErrorOf(error, operation);
    if (failed === undefined || target.ending.signal.aborted) throw error;
    const { problem } = adviseOn(failed, { operation, config: target.config });
    if (LASTING.has(failed.status ?? 0)) {
      throw new CommandError(
        `${problem}; the assistant was requested nevertheless: check with \`cloud assistant get\``,
      );
    }
    note(`${problem}; asking again`);
    return undefined;
  }
}
