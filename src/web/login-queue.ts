/** What became of an attempt; undefined when it was dropped before its turn. */
type Outcome = boolean | undefined;

interface Attempt {
  readonly key: string;
  readonly client: string;
  readonly compare: () => Promise<boolean>;
  readonly outcome: PromiseWithResolvers<Outcome>;
  /** Requests that wait for the outcome. */
  waiters: number;
}

/** A login that must be compared; `key` is the same for the same user and password. */
export type Login = Pick<Attempt, 'key' | 'client' | 'compare'>;

/** Requests that wait hold a connection each: these are few beside the connections that a listener accepts. */
const MAX_WAITING = 200;
/** Clients whose last turn is remembered; the longest ago are forgotten first. */
const MAX_CLIENTS = 10_000;

/**
 * Logins that wait for their comparison, one at a time. The next turn is that of the client whose last turn is the
 * longest ago, so nobody is kept out by the guesses of others; among the attempts of one client, and among clients
 * that had no turn yet, chance decides. When the queue is full, an attempt of the busiest client is dropped.
 */
export class LoginQueue {
  readonly #attempts = new Map<string, Attempt>();
  readonly #waiting = new Map<string, readonly Attempt[]>();
  readonly #lastTurns = new Map<string, number>();
  #waitingCount = 0;
  #turn = 0;
  #isComparing = false;

  /** Resolves to the result of the comparison. Undefined: dropped, or its client has left meanwhile. */
  async compare(login: Login, left: AbortSignal): Promise<Outcome> {
    if (left.aborted) return undefined;
    const attempt = this.#attempts.get(login.key) ?? this.#add(login);
    attempt.waiters += 1;
    const leave = (): void => this.#leave(attempt);
    left.addEventListener('abort', leave, { once: true });
    try {
      return await attempt.outcome.promise;
    } finally {
      left.removeEventListener('abort', leave);
    }
  }

  #add(login: Login): Attempt {
    if (this.#waitingCount >= MAX_WAITING) this.#drop(pickAny(this.#busiest()));
    const attempt = { ...login, outcome: Promise.withResolvers<Outcome>(), waiters: 0 };
    this.#attempts.set(attempt.key, attempt);
    this.#setWaiting(attempt.client, [...(this.#waiting.get(attempt.client) ?? []), attempt]);
    void this.#work();
    return attempt;
  }

  #busiest(): readonly Attempt[] {
    const all = [...this.#waiting.values()];
    const most = Math.max(...all.map(({ length }) => length));
    return pickAny(all.filter(({ length }) => length === most));
  }

  #leave(attempt: Attempt): void {
    attempt.waiters -= 1;
    if (attempt.waiters === 0) this.#drop(attempt);
  }

  /** Does nothing to an attempt whose comparison has begun. */
  #drop(attempt: Attempt): void {
    if (!this.#takeOut(attempt)) return;
    this.#attempts.delete(attempt.key);
    attempt.outcome.resolve(undefined);
  }

  /** One comparison after the other until nobody waits. */
  async #work(): Promise<void> {
    if (this.#isComparing) return;
    this.#isComparing = true;
    for (let next = this.#takeNext(); next !== undefined; next = this.#takeNext()) {
      await next.compare().then(next.outcome.resolve, next.outcome.reject);
      this.#attempts.delete(next.key);
    }
    this.#isComparing = false;
  }

  #takeNext(): Attempt | undefined {
    const clients = [...this.#waiting.keys()];
    if (clients.length === 0) return undefined;
    const turns = clients.map((client) => this.#lastTurns.get(client) ?? 0);
    const longestAgo = Math.min(...turns);
    const client = pickAny(clients.filter((_, at) => turns[at] === longestAgo));
    const attempt = pickAny(this.#waiting.get(client) ?? []);
    this.#takeOut(attempt);
    this.#rememberTurn(client);
    return attempt;
  }

  #rememberTurn(client: string): void {
    this.#turn += 1;
    this.#lastTurns.delete(client);
    this.#lastTurns.set(client, this.#turn);
    if (this.#lastTurns.size <= MAX_CLIENTS) return;
    const [oldest = client] = this.#lastTurns.keys();
    this.#lastTurns.delete(oldest);
  }

  #takeOut(attempt: Attempt): boolean {
    const ofClient = this.#waiting.get(attempt.client) ?? [];
    if (!ofClient.includes(attempt)) return false;
    this.#setWaiting(
      attempt.client,
      ofClient.filter((other) => other !== attempt),
    );
    return true;
  }

  #setWaiting(client: string, attempts: readonly Attempt[]): void {
    this.#waitingCount += attempts.length - (this.#waiting.get(client)?.length ?? 0);
    if (attempts.length === 0) this.#waiting.delete(client);
    else this.#waiting.set(client, attempts);
  }
}

function pickAny<T>(items: readonly T[]): T {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}
