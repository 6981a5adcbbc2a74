import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** Another process: a contender that shares no memory, heap or event loop with the others, or a server. */
export interface OtherProcess extends AsyncDisposable {
  readonly pid: number;
  /** Resolves to what the handler of that name returns there. */
  ask<Answer>(question: string, argument?: unknown): Promise<Answer>;
}

type Handlers = Readonly<Record<string, (argument: never) => unknown>>;

interface Question {
  readonly id: number;
  readonly question: string;
  readonly argument: never;
}

interface Reply {
  readonly id: number;
  readonly answer?: never;
  readonly error?: string;
}

/**
 * Starts a program of this folder with one argument, handed over as JSON, under these options of
 * Node; resolves when it takes questions.
 */
export async function startProcess(
  program: string,
  argument: unknown = {},
  options: readonly string[] = [],
): Promise<OtherProcess> {
  const child = fork(path.join(import.meta.dirname, program), [JSON.stringify(argument)], {
    execArgv: ['--expose-gc', ...options],
  });
  const waiting = new Map<number, PromiseWithResolvers<never>>();
  let asked = 0;
  const ready = once(child, 'message');
  const ended = once(child, 'exit').then(([code]) => {
    const error = new Error(`${program} ended with ${code}`);
    for (const { reject } of waiting.values()) reject(error);
    throw error;
  });
  ended.catch(() => undefined);
  await Promise.race([ready, ended]);
  child.on('message', ({ id, answer, error }: Reply) => {
    const asker = waiting.get(id);
    waiting.delete(id);
    if (error === undefined && answer !== undefined) asker?.resolve(answer);
    else asker?.reject(new Error(`${program}: ${error ?? 'no answer'}`));
  });
  return {
    pid: child.pid ?? 0,
    ask(question, argument_) {
      const asker = Promise.withResolvers<never>();
      asked += 1;
      waiting.set(asked, asker);
      child.send({ id: asked, question, argument: argument_ ?? null });
      return asker.promise;
    },
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await ended.catch(() => undefined);
    },
  };
}

/** Takes questions until the one who asks is gone; `process.argv[2]` is what this program was started with. */
export function answerQuestions(handlers: Handlers): void {
  async function reply({ id, question, argument }: Question): Promise<void> {
    try {
      process.send?.({ id, answer: (await handlers[question]?.(argument)) ?? null });
    } catch (error) {
      process.send?.({ id, error: String(error) });
    }
  }
  process.on('message', (question: Question) => void reply(question));
  process.on('disconnect', () => process.exit(0));
  process.send?.('ready');
}
