export interface Query {
  readonly expr: string;
  readonly legend?: string;
}

/** The number of lines that a legend can name. */
const MAX_LINES = 20;
/** Lines of each chosen metric: their values do not compare. */
const MAX_PER_KEY = 5;

/** Labels by which there may be hundreds of series. */
const MANY = ['node_id', 'range_id', 'application'];

/** The labels of a legend with one of these. */
function labelsOf({ legend = '' }: Query): readonly string[] {
  const labels = Array.from(legend.matchAll(/{{(\w+)}}/g), ([, label = '']) => label);
  return labels.some((label) => MANY.includes(label)) ? labels : [];
}

/** Of many series only those with the highest (or lowest) values in the time range. */
export function fewest(query: Query, order: 'highest' | 'lowest' = 'highest'): Query {
  const labels = labelsOf(query);
  if (labels.length === 0) return query;
  const [choose, over] = order === 'highest' ? ['topk', 'max'] : ['bottomk', 'min'];
  const by = labels.includes('key') ? ` by (key) (${MAX_PER_KEY}` : `(${MAX_LINES}`;
  const best = `${choose}${by}, ${over}_over_time(${overRange(query.expr)} @ end()))`;
  return { ...query, expr: `(${query.expr}) and on (${labels.join(', ')}) ${best}` };
}

/** The values in the time range: of recorded series all, else those at each step, which costs more. */
function overRange(expr: string): string {
  return /^[\w:]+{[^{}]*}$/.test(expr) ? `${expr}[$__range]` : `(${expr})[$__range:$__interval]`;
}

/** The same for current values. */
export function fewestNow(query: Query): Query {
  return labelsOf(query).length === 0
    ? query
    : { ...query, expr: `topk(${MAX_LINES}, ${query.expr})` };
}
