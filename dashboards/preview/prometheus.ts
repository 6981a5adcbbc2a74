/** One series of a response: points as [unix seconds, value]. */
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

interface QueryResponse {
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

/** Queries Prometheus: over the window, or only at its end. */
export async function query(
  url: string,
  expr: string,
  { start, end, stepSeconds }: Window,
  instant: boolean,
): Promise<readonly Series[]> {
  const parameters: Readonly<Record<string, string>> = instant
    ? { query: expr, time: String(end) }
    : { query: expr, start: String(start), end: String(end), step: String(stepSeconds) };
  const path = instant ? '/api/v1/query' : '/api/v1/query_range';
  const body = new URLSearchParams(parameters);
  const response = await fetch(url + path, { method: 'POST', body });
  const found: QueryResponse = JSON.parse(await response.text());
  if (found.status !== 'success') throw new Error(`${expr}: ${found.error}`);
  return found.data.result.map(({ metric, value, values }) => ({
    labels: metric,
    points: (values ?? (value === undefined ? [] : [value])).map(([at, text]) => [
      at,
      Number(text),
    ]),
  }));
}
