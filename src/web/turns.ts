/** Runs tasks in turn; `client` is whom a task is for. */
export type Turns = (client: string, task: () => void) => void;

/** An idle turn of the event loop takes microseconds; it accepts one connection in each. */
const FREE_TURNS = 20;

/**
 * One task in so many turns of the event loop, so that new connections and cheap requests are served between expensive
 * ones however many of these wait. Clients take turns: whoever sends many requests waits for them alone.
 */
export function createTurns(): Turns {
  /** Clients with tasks that wait, the next one first. */
  const waiting = new Map<string, (() => void)[]>();
  let freeTurns = 0;

  function run(task: () => void): void {
    freeTurns = FREE_TURNS;
    setImmediate(endTurn);
    task();
  }

  function endTurn(): void {
    freeTurns -= 1;
    if (freeTurns > 0) setImmediate(endTurn);
    else runNext();
  }

  function runNext(): void {
    const [next] = waiting;
    if (next === undefined) return;
    const [client, tasks] = next;
    const task = tasks.shift();
    waiting.delete(client);
    if (tasks.length > 0) waiting.set(client, tasks);
    if (task !== undefined) run(task);
  }

  return (client, task) => {
    if (freeTurns === 0) {
      run(task);
      return;
    }
    const tasks = waiting.get(client) ?? [];
    tasks.push(task);
    waiting.set(client, tasks);
  };
}
