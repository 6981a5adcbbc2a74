/** One series of an answer: points as [unix seconds, value]. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [at: number, value: number])[];
}

export interface Window {
  readonly start: number;
  readonly end: number;
  readonly stepSeconds: number;
}

type Point = readonly [at: number, value: string];

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly value?: Point;
      readonly values?: readonly Point[];
    }[];
  };
}

/** Asks a Prometheus: over the window, or only for its last moment. */
export async function ask(
  url: string,
  expr: string,
  { start, end, stepSeconds }: Window,
  instant: boolean,
): Promise<readonly Series[]> {
  const query: Readonly<Record<string, string>> = instant
    ? { query: expr, time: String(end) }
    : { query: expr, start: String(start), end: String(end), step: String(stepSeconds) };
  const path = instant ? '/api/v1/query' : '/api/v1/query_range';
  const body = new URLSearchParams(query);
  const response = await fetch(url + path, { method: 'POST', body });
  const answer: Answer = JSON.parse(await response.text());
  if (answer.status !== 'success') throw new Error(`${expr}: ${answer.error}`);
  return answer.data.result.map(({ metric, value, values }) => ({
    labels: metric,
    points: (values ?? (value === undefined ? [] : [value])).map(([at, text]) => [
      at,
      Number(text),
    ]),
  }));
}
