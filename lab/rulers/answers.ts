/** Values by the labels of the series, without the name of the metric, which the two languages keep in other places. */
type Answer = ReadonlyMap<string, number>;

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: Point;
  readonly values?: readonly Point[];
}

type Point = readonly [at: number, value: string];

/** Sums of the same numbers in another order. */
const TOLERANCE = 1e-9;

/**
 * How far two answers can agree. Prometheus extrapolates increases to the ends of the window, VictoriaMetrics does not: then the
 * series are compared, not their values. Of equal values `topk` chooses either.
 */
type Comparison = 'values' | 'series' | 'number of series';

export function comparisonOf(query: string): Comparison {
  if (/\b(?:top|bottom)k\b/.test(query)) return 'number of series';
  return /\b(?:i?rate|increase|delta)\(/.test(query) ? 'series' : 'values';
}

/** What a server answers to a query at a time; NaN is left out, which VictoriaMetrics does not store. */
export async function readAnswer(url: string, query: string, at: number): Promise<Answer> {
  const series = await ask(url, `query?nocache=1&time=${at}`, query);
  return new Map(
    series.flatMap(({ metric: { __name__: _name, ...labels }, value: point }) => {
      const value = readValue(point?.[1] ?? 'NaN');
      return Number.isNaN(value) ? [] : [[labelsOf(labels), value] as const];
    }),
  );
}

/** The first series that the two have not alike. */
export function differenceOf(
  first: Answer,
  second: Answer,
  comparison: Comparison,
): string | undefined {
  if (comparison === 'number of series') {
    return first.size === second.size
      ? undefined
      : `${first.size} series, VictoriaMetrics ${second.size}`;
  }
  for (const key of new Set([...first.keys(), ...second.keys()])) {
    const [one, two] = [first.get(key), second.get(key)];
    if (one === two) continue;
    const scale = Math.max(Math.abs(one ?? 0), Math.abs(two ?? 0));
    const isBoth = one !== undefined && two !== undefined;
    if (isBoth && (comparison === 'series' || Math.abs(one - two) <= TOLERANCE * scale)) continue;
    return `${key}: ${one ?? 'nothing'}, VictoriaMetrics ${two ?? 'nothing'}`;
  }
  return undefined;
}

/** Spans of seconds in which alerts fired, by name and severity: `60-105, 300-`. */
export async function firingTimes(
  url: string,
  { begin, end, step }: { readonly begin: number; readonly end: number; readonly step: number },
): Promise<ReadonlyMap<string, string>> {
  const query = 'group by (alertname, severity) (ALERTS{alertstate="firing"})';
  const series = await ask(
    url,
    `query_range?nocache=1&start=${begin}&end=${end}&step=${step}`,
    query,
  );
  return new Map(
    series.map(({ metric: { alertname, severity }, values = [] }) => {
      const spans: [from: number, to: number][] = [];
      for (const [at] of values) {
        const last = spans.at(-1);
        if (last !== undefined && at - last[1] <= step) last[1] = at;
        else spans.push([at, at]);
      }
      const text = spans.map(
        ([from, to]) => `${from - begin}-${to + step > end ? '' : to - begin}`,
      );
      return [`${alertname} ${severity}`, text.join(', ')] as const;
    }),
  );
}

async function ask(url: string, target: string, query: string): Promise<readonly Series[]> {
  const response = await fetch(`${url}/api/v1/${target}`, {
    method: 'POST',
    body: new URLSearchParams({ query }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${query}\n${text}`);
  const answer: { readonly data: { readonly resultType: string; readonly result: unknown } } =
    JSON.parse(text);
  // A scalar has no labels.
  if (answer.data.resultType === 'scalar') return [{ metric: {}, value: scalarOf(text) }];
  const { data }: { readonly data: { readonly result: readonly Series[] } } = JSON.parse(text);
  return data.result;
}

function scalarOf(text: string): Point {
  const { data }: { readonly data: { readonly result: Point } } = JSON.parse(text);
  return data.result;
}

function readValue(text: string): number {
  if (text.endsWith('Inf')) return text.startsWith('-') ? -Infinity : Infinity;
  return Number(text);
}

/** An empty label is no label. */
function labelsOf(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).filter(([, value]) => value !== '');
  const sorted = pairs.map(([name, value]) => `${name}="${value}"`).toSorted();
  return `{${sorted.join(',')}}`;
}
