/** `busy`: too many comparisons wait for this one to be made, or its client has left. */
export type LoginOutcome = 'accepted' | 'rejected' | 'busy';

/** Each waiting request holds a connection: these are few of the connections that a listener accepts. */
const MAX_WAITING = 200;
/** Clients whose last comparison is remembered; the least recent are forgotten first. */
const MAX_CLIENTS = 10_000;

/** A login whose password must be compared. */
interface Login {
  /** The same for the same user and password. */
  readonly key: string;
  readonly client: string;
  readonly compare: () => Promise<LoginOutcome>;
}

interface Attempt extends Login {
  readonly result: PromiseWithResolvers<LoginOutcome>;
  /** Requests that wait for the result. */
  requests: number;
}

/**
 * Logins that wait for their comparison, one at a time. The next one belongs to the client whose last comparison is the
 * least recent, so the guesses of one client do not keep out another; among the attempts of one client, and among
 * clients without a comparison yet, the choice is random. When the queue is full, an attempt of the client with the
 * most is dropped.
 */
export class LoginQueue {
  /** By key. */
  readonly #waiting = new Map<string, Attempt>();
  readonly #lastTurns = new Map<string, number>();
  #turn = 0;
  #current: Attempt | undefined;

  async compare(login: Login, left: AbortSignal): Promise<LoginOutcome> {
    if (left.aborted) return 'busy';
    const current = this.#current?.key === login.key ? this.#current : undefined;
    const attempt = current ?? this.#waiting.get(login.key) ?? this.#add(login);
    attempt.requests += 1;
    const leave = (): void => {
      attempt.requests -= 1;
      if (attempt.requests === 0) this.#drop(attempt);
    };
    left.addEventListener('abort', leave, { once: true });
    try {
      return await attempt.result.promise;
    } finally {
      left.removeEventListener('abort', leave);
    }
  }

  #add(login: Login): Attempt {
    if (this.#waiting.size >= MAX_WAITING) {
      const bySize = Map.groupBy(this.#byClient().values(), ({ length }) => length);
      this.#drop(pickRandom(pickRandom(bySize.get(Math.max(...bySize.keys())))));
    }
    const attempt = { ...login, result: Promise.withResolvers<LoginOutcome>(), requests: 0 };
    this.#waiting.set(attempt.key, attempt);
    void this.#run();
    return attempt;
  }

  #byClient(): ReadonlyMap<string, readonly Attempt[]> {
    return Map.groupBy(this.#waiting.values(), ({ client }) => client);
  }

  /** Does nothing when the comparison has begun. */
  #drop(attempt: Attempt): void {
    if (this.#waiting.get(attempt.key) !== attempt) return;
    this.#waiting.delete(attempt.key);
    attempt.result.resolve('busy');
  }

  async #run(): Promise<void> {
    if (this.#current !== undefined) return;
    while (this.#waiting.size > 0) {
      const attempt = this.#takeNext();
      this.#current = attempt;
      await attempt.compare().then(attempt.result.resolve, attempt.result.reject);
      this.#current = undefined;
    }
  }

  #takeNext(): Attempt {
    const attempts = this.#byClient();
    const clients = Map.groupBy(attempts.keys(), (client) => this.#lastTurns.get(client) ?? 0);
    const client = pickRandom(clients.get(Math.min(...clients.keys())));
    const attempt = pickRandom(attempts.get(client));
    this.#waiting.delete(attempt.key);
    this.#turn += 1;
    this.#lastTurns.delete(client);
    this.#lastTurns.set(client, this.#turn);
    const [leastRecent = client] = this.#lastTurns.keys();
    if (this.#lastTurns.size > MAX_CLIENTS) this.#lastTurns.delete(leastRecent);
    return attempt;
  }
}

function pickRandom<T>(items: readonly T[] = []): T {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}
