import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import { TableSortByFieldStateBuilder } from '@grafana/grafana-foundation-sdk/common';
import type { DashboardLink, DynamicConfigValue } from '@grafana/grafana-foundation-sdk/dashboard';
import { PanelBuilder as Table } from '@grafana/grafana-foundation-sdk/table';
import { describe, type PanelOptions, refIdOf } from './panels.ts';
import { mappings, type States, type Steps, thresholds } from './style.ts';

/** A column: a label that the queries keep, or the value of one query. */
interface Column {
  readonly title: string;
  readonly unit?: string;
  readonly steps?: Steps;
  readonly states?: States;
  readonly links?: readonly Builder<DashboardLink>[];
}

export interface TableOptions extends Omit<PanelOptions, 'queries' | 'unit'> {
  /** Columns in their order: label names with their titles. */
  readonly labels: Readonly<Record<string, string | Column>>;
  /** Columns with a query each; a hidden one only keeps rows. */
  readonly values: readonly (Column & { readonly expr: string; readonly hidden?: boolean })[];
  /** The label to join the queries by, where they do not share all labels. */
  readonly join?: string;
  /** Columns, the most important first; each descending. */
  readonly sortBy?: string | readonly string[];
}

/** Current values, one row for each label set. */
export function table(title: string, options: TableOptions): Table {
  const { values, labels, join, sortBy } = options;
  const panel = describe(new Table(), title, {
    width: 12,
    ...options,
    queries: values.map(({ expr }) => expr),
    unit: 'short',
    instant: true,
    format: 'table',
  });
  if (values.length > 1) {
    panel.withTransformation(
      join === undefined
        ? { id: 'merge', options: {} }
        : { id: 'joinByField', options: { byField: join, mode: 'outer' } },
    );
  }
  panel.withTransformation({ id: 'organize', options: organize(options) });
  for (const column of [...Object.values(labels), ...values]) {
    if (typeof column === 'string') continue;
    const properties = propertiesOf(column);
    if (properties.length > 0) panel.overrideByName(column.title, properties);
  }
  if (sortBy !== undefined) {
    const columns = [sortBy].flat();
    panel.sortBy(
      columns.map((name) => new TableSortByFieldStateBuilder().displayName(name).desc(true)),
    );
  }
  return panel;
}

function organize({ labels, values }: TableOptions): object {
  const fields = values.map((_, index) =>
    values.length > 1 ? `Value #${refIdOf(index)}` : 'Value',
  );
  const order = [...Object.keys(labels), ...fields];
  // A join numbers the time columns of its queries.
  const times = ['Time', ...values.map((_, index) => `Time ${index + 1}`)];
  const hidden = fields.filter((_, index) => values[index]?.hidden === true);
  const titles = [...Object.values(labels), ...values].map((column) =>
    typeof column === 'string' ? column : column.title,
  );
  return {
    excludeByName: Object.fromEntries([...times, ...hidden].map((name) => [name, true])),
    indexByName: Object.fromEntries(order.map((name, index) => [name, index])),
    renameByName: Object.fromEntries(order.map((name, index) => [name, titles[index] ?? name])),
  };
}

function propertiesOf({ unit, steps, states, links }: Column): DynamicConfigValue[] {
  const properties: DynamicConfigValue[] = [];
  if (unit !== undefined) properties.push({ id: 'unit', value: unit });
  if (states !== undefined) properties.push({ id: 'mappings', value: mappings(states) });
  if (steps !== undefined) properties.push({ id: 'thresholds', value: thresholds(steps).build() });
  if (steps !== undefined || states !== undefined) {
    properties.push({
      id: 'custom.cellOptions',
      value: { type: 'color-background', mode: 'basic' },
    });
  }
  if (links !== undefined) {
    const value = links.map((link) => {
      const { title, url = '', targetBlank } = link.build();
      return { title, url, targetBlank };
    });
    properties.push({ id: 'links', value });
  }
  return properties;
}
