import { formatCounted } from '#base';
import { COLLECTORS } from '#collectors';
import { fieldsOf } from '../docs/fields-page.ts';
import { RESPONSES } from '../docs/server-fields.ts';

/** The parts of a report of `diagnose --report` that this reads. */
export interface Report {
  readonly versions: readonly string[];
  readonly scan: string;
  readonly requests: readonly {
    readonly request: string;
    readonly statuses: Readonly<Record<string, number>>;
    /** How many responses were looked at. */
    readonly readResponses: number;
    readonly fields: Readonly<Record<string, string>>;
    readonly enumerations: Readonly<Record<string, Readonly<Record<string, number>>>>;
  }[];
  /** How many ranges lists and descriptors have named. */
  readonly ranges: {
    readonly listed: number;
    readonly leases: Readonly<Record<string, number>>;
    readonly described: number;
    readonly replicas: Readonly<Record<string, number>>;
    readonly voters: Readonly<Record<string, number>>;
  };
  readonly metrics: {
    /** How many metrics the records of the nodes have. */
    readonly sent: number;
    readonly missing: readonly string[];
    readonly similar: Readonly<Record<string, readonly string[]>>;
  };
}

/**
 * What the exporter would lose with the server of a report, a line each: requests without a good response, fields that it reads
 * and that were not seen, and metrics with their families. Servers omit zero values, so a field may only have been 0 everywhere.
 */
export function listLosses(report: Report): readonly string[] {
  return [
    ...RESPONSES.flatMap(({ request, ...response }) => {
      const name = request.split('?')[0] ?? '';
      if (name.includes('(Cloud)')) return [];
      const found = report.requests.find((each) => each.request === name);
      if (found === undefined) return [`${name}: not requested`];
      const statuses = Object.keys(found.statuses);
      if (Object.keys(found.fields).length === 0) {
        return [`${name}: no response to read (${statuses.join(', ')})`];
      }
      const unseen = fieldsOf({ request, ...response }).filter((field) => !hasField(found, field));
      return unseen.map((field) => `${name}: ${field} was not seen${formatSample(found, field)}`);
    }),
    ...(report.metrics.sent === 0
      ? ['metrics: no record of a node was read']
      : report.metrics.missing.map((key) => describeMetric(key, report))),
  ];
}

function describeMetric(key: string, report: Report): string {
  const families = familiesOf(key).join(', ');
  const similar = report.metrics.similar[key] ?? [];
  const renamed = similar.length === 0 ? '' : `; similar: ${similar.join(', ')}`;
  return `metric ${key} is missing: ${families}${renamed}`;
}

/** ` in 20 objects`: where the field would be, so that one that is rare is told from one that is gone. */
function formatSample(
  { fields, readResponses }: Report['requests'][number],
  field: string,
): string {
  const parent = /^(.*?)(?:\.[^.]*|\[\])$/.exec(field)?.[1];
  if (parent === undefined) return ` in ${formatCounted(readResponses, 'response')}`;
  const [, type, count] = /(object|list) (\d+)/.exec(fields[parent] ?? '') ?? [];
  return type === undefined ? '' : ` in ${formatCounted(Number(count), type)}`;
}

/** Whether a field was seen, if only as the key of a map, or with members of its own. */
function hasField({ fields }: Report['requests'][number], field: string): boolean {
  const parent = field.slice(0, field.lastIndexOf('.'));
  return field in fields || (field.endsWith('.*') && parent in fields);
}

/** The families whose source names the metric, or a pattern of it: `metrics jobs.*.resume_failed`. */
function familiesOf(key: string): readonly string[] {
  const families = COLLECTORS.flatMap((collector) => collector.families);
  return families.flatMap(({ name, field = '' }) => {
    const [, sources = ''] = /metrics (.*)/.exec(field) ?? [];
    return sources.split(/[\s,()]+/).some((source) => matches(key, source)) ? [name] : [];
  });
}

/** `*` stands for a word of the name or a part of one: `jobs.*.currently_*`. */
function matches(key: string, pattern: string): boolean {
  const words = key.split('.');
  const wanted = pattern.split('.');
  return (
    words.length === wanted.length &&
    words.every((word, at) => {
      const [start = '', end] = wanted[at]?.split('*') ?? [];
      return end === undefined ? word === start : word.startsWith(start) && word.endsWith(end);
    })
  );
}
