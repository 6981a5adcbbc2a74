import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** A child process: an implementation that shares no memory or event loop with the others, or a server. */
export interface OtherProcess extends AsyncDisposable {
  readonly pid: number;
  /** Calls the handler of that name in the process. */
  call<Result>(method: string, argument?: unknown): Promise<Result>;
}

type Handlers = Readonly<Record<string, (argument: never) => unknown>>;

interface Call {
  readonly id: number;
  readonly method: string;
  readonly argument: never;
}

interface Reply {
  readonly id: number;
  readonly result?: never;
  readonly error?: string;
}

/**
 * Starts a program of this folder, or at an absolute path, with one argument, as JSON, and these options of Node.js;
 * resolves when it accepts calls.
 */
export async function startProcess(
  program: string,
  argument: unknown = {},
  options: readonly string[] = [],
): Promise<OtherProcess> {
  const child = fork(path.resolve(import.meta.dirname, program), [JSON.stringify(argument)], {
    execArgv: ['--expose-gc', ...options],
  });
  const waiting = new Map<number, PromiseWithResolvers<never>>();
  let calls = 0;
  const ready = once(child, 'message');
  const ended = once(child, 'exit').then(([code]) => {
    const error = new Error(`${program} ended with ${code}`);
    for (const { reject } of waiting.values()) reject(error);
    throw error;
  });
  ended.catch(() => undefined);
  await Promise.race([ready, ended]);
  child.on('message', ({ id, result, error }: Reply) => {
    const caller = waiting.get(id);
    waiting.delete(id);
    if (error === undefined && result !== undefined) caller?.resolve(result);
    else caller?.reject(new Error(`${program}: ${error ?? 'no result'}`));
  });
  return {
    pid: child.pid ?? 0,
    call(method, argument_) {
      const caller = Promise.withResolvers<never>();
      calls += 1;
      waiting.set(calls, caller);
      child.send({ id: calls, method, argument: argument_ ?? null });
      return caller.promise;
    },
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await ended.catch(() => undefined);
    },
  };
}

/** Serves calls until the parent disconnects; `process.argv[2]` is the argument of this program. */
export function serveCalls(handlers: Handlers): void {
  async function reply({ id, method, argument }: Call): Promise<void> {
    try {
      process.send?.({ id, result: (await handlers[method]?.(argument)) ?? null });
    } catch (error) {
      process.send?.({ id, error: String(error) });
    }
  }
  process.on('message', (call: Call) => void reply(call));
  process.on('disconnect', () => process.exit(0));
  process.send?.('ready');
}
