import { COLLECTORS } from '../../src/collectors/index.ts';
import { fieldsOf } from '../docs/fields-page.ts';
import { RESPONSES } from '../docs/server-fields.ts';

/** The parts of a report of `diagnose --report` that this reads. */
export interface Report {
  readonly versions: readonly string[];
  readonly requests: readonly {
    readonly request: string;
    readonly statuses: Readonly<Record<string, number>>;
    readonly fields: Readonly<Record<string, string>>;
  }[];
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
      return unseen.map((field) => `${name}: ${field} was not seen`);
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
  return `metric ${key} is missing: ${families || 'part of others'}${renamed}`;
}

/** Whether a field was seen, if only as the key of a map, or with members of its own. */
function hasField({ fields }: Report['requests'][number], field: string): boolean {
  const parent = field.slice(0, field.lastIndexOf('.'));
  return field in fields || (field.endsWith('.*') && parent in fields);
}

function familiesOf(key: string): readonly string[] {
  const families = COLLECTORS.flatMap((collector) => collector.families);
  return families.flatMap(({ name, field = '' }) => (field.endsWith(` ${key}`) ? [name] : []));
}
