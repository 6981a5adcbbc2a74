import { PanelBuilder as BarGauge } from '@grafana/grafana-foundation-sdk/bargauge';
import type { Builder, Dataquery } from '@grafana/grafana-foundation-sdk/cog';
import {
  BigValueColorMode,
  BigValueGraphMode,
  BigValueTextMode,
  type DataSourceRef,
  ReduceDataOptionsBuilder,
  VizOrientation,
} from '@grafana/grafana-foundation-sdk/common';
import type {
  DashboardLink,
  DynamicConfigValue,
  Panel,
  ThresholdsConfig,
  ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { PanelBuilder as Heatmap } from '@grafana/grafana-foundation-sdk/heatmap';
import { PanelBuilder as PieChart } from '@grafana/grafana-foundation-sdk/piechart';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as Stat } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as StateTimeline } from '@grafana/grafana-foundation-sdk/statetimeline';
import { PanelBuilder as Text } from '@grafana/grafana-foundation-sdk/text';
import { fewest, fewestNow, type Query } from './crowd.ts';
import { mappings, type States, type Steps, thresholds } from './style.ts';

/** Options of all panels. */
export interface PanelOptions {
  readonly queries: string | readonly (string | Query)[];
  readonly unit: string;
  /** The description: what it shows, from which metric, and what to do when it is red. */
  readonly about: string;
  /** Of 24 columns. */
  readonly width?: number;
  readonly height?: number;
  readonly legend?: string;
  readonly steps?: Steps;
  readonly states?: States;
  /** Text of an empty panel, where empty is the healthy case. */
  readonly empty?: string;
  /** Where empty is the healthy case: series without which nothing is known, and the label that then says so. */
  readonly evidence?: readonly [series: string, label: string];
  readonly decimals?: number;
  readonly links?: readonly Builder<DashboardLink>[];
}

export const DATA_SOURCE: DataSourceRef = { type: 'prometheus', uid: '${datasource}' };

/** Nodes are polled every 30 s: a shorter step adds nothing. */
const MIN_STEP = '30s';

/** The common methods of the panel builders. */
interface AnyPanel extends Builder<Panel> {
  withTarget(target: Builder<Dataquery>): this;
  title(title: string): this;
  description(description: string): this;
  datasource(datasource: DataSourceRef): this;
  height(height: number): this;
  span(width: number): this;
  unit(unit: string): this;
  decimals(decimals: number): this;
  interval(interval: string): this;
  mappings(mappings: ValueMapping[]): this;
  thresholds(thresholds: Builder<ThresholdsConfig>): this;
  dataLinks(links: Builder<DashboardLink>[]): this;
  noValue(text: string): this;
  overrideByName(name: string, properties: DynamicConfigValue[]): this;
}

type Format = 'time_series' | 'table' | 'heatmap';

/** Sets queries, texts and thresholds of a panel. */
export function describe<P extends AnyPanel>(
  panel: P,
  title: string,
  options: PanelOptions & { readonly instant?: boolean; readonly format?: Format },
): P {
  const { width = 8, height = 8, steps = ['text'], states, empty = 'no data' } = options;
  const [first, ...others] = queriesOf(options);
  const queries = first === undefined ? [] : [proven(first, options.evidence), ...others];
  panel
    .title(title)
    .description(options.about)
    .datasource(DATA_SOURCE)
    .span(width)
    .height(height)
    .unit(options.unit)
    .thresholds(thresholds(steps))
    .mappings(mappings(states))
    .noValue(empty);
  if (options.decimals !== undefined) panel.decimals(options.decimals);
  if (options.links !== undefined) panel.dataLinks([...options.links]);
  for (const [index, query] of queries.entries()) {
    panel.withTarget(target(query, index, options));
  }
  return options.instant === true ? panel : panel.interval(MIN_STEP);
}

export function queriesOf({ queries, legend = '' }: PanelOptions): readonly Query[] {
  const listed = typeof queries === 'string' ? [queries] : queries;
  return listed.map((query) => (typeof query === 'string' ? { expr: query, legend } : query));
}

/** Adds a result "no data" while there is no evidence: then an empty result would not be good. */
function proven(query: Query, evidence: PanelOptions['evidence']): Query {
  if (evidence === undefined) return query;
  const [series, label] = evidence;
  const unknown = `label_replace(absent(${series}) * NaN, "${label}", "no data", "", "")`;
  return { ...query, expr: `${query.expr} or ${unknown}` };
}

function target(
  { expr, legend = '' }: Query,
  index: number,
  { instant = false, format = 'time_series' }: { instant?: boolean; format?: Format },
): DataqueryBuilder {
  const formats = {
    time_series: PromQueryFormat.TimeSeries,
    table: PromQueryFormat.Table,
    heatmap: PromQueryFormat.Heatmap,
  };
  const query = new DataqueryBuilder()
    .datasource(DATA_SOURCE)
    .expr(expr)
    .refId(refIdOf(index))
    .format(formats[format])
    .legendFormat(legend === '' ? '__auto' : legend);
  return instant ? query.instant() : query.range();
}

/** A, B, C, … as Grafana names the queries of a panel. */
export function refIdOf(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index);
}

function lastValue(): ReduceDataOptionsBuilder {
  return new ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false);
}

export interface StatOptions extends PanelOptions {
  /** Shows the names of the series instead of their values. */
  readonly names?: boolean;
  /** Repeats the panel for each value of a variable. */
  readonly repeat?: string;
}

/** One number, or a few, coloured by thresholds: the current ones, so an old number never looks like one of now. */
export function stat(title: string, options: StatOptions): Stat {
  const { names = false, steps, states } = options;
  const hasColour = steps !== undefined || states !== undefined;
  const panel = describe(new Stat(), title, {
    width: 4,
    height: 4,
    instant: true,
    ...options,
    queries: queriesOf(options).map(fewestNow),
  })
    .reduceOptions(lastValue())
    .graphMode(BigValueGraphMode.None)
    .textMode(names ? BigValueTextMode.Name : BigValueTextMode.Auto)
    .colorMode(hasColour ? BigValueColorMode.Background : BigValueColorMode.Value);
  if (options.repeat === undefined) return panel;
  return panel.repeat(options.repeat).repeatDirection('h').maxPerRow(6);
}

/** One bar per series, for its last value. */
export function bars(title: string, options: PanelOptions): BarGauge {
  const queries = queriesOf(options).map(fewestNow);
  return describe(new BarGauge(), title, { instant: true, ...options, queries })
    .reduceOptions(lastValue())
    .orientation(VizOrientation.Horizontal)
    .min(0);
}

/** Parts of a whole. */
export function pie(title: string, options: PanelOptions): PieChart {
  return describe(new PieChart(), title, { instant: true, ...options }).reduceOptions(lastValue());
}

/** One line per series, coloured by its state. */
export function timeline(title: string, options: PanelOptions): StateTimeline {
  const queries = queriesOf(options).map((query) => fewest(query));
  return describe(new StateTimeline(), title, { width: 12, ...options, queries }).mergeValues(true);
}

/** Buckets of a gauge distribution, labelled `le`: Grafana subtracts each from the next one. */
export function heatmap(title: string, options: PanelOptions): Heatmap {
  return describe(new Heatmap(), title, {
    width: 12,
    format: 'heatmap',
    legend: '{{le}}',
    ...options,
  }).calculate(false);
}

/** An explanation, as why a row may be empty. */
export function note(title: string, text: string, height = 2): Text {
  return new Text().title(title).description(text).content(text).span(24).height(height);
}
