import {
  GraphDrawStyle,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import { FieldColorBuilder, FieldColorModeId } from '@grafana/grafana-foundation-sdk/dashboard';
import { PanelBuilder as TimeSeries } from '@grafana/grafana-foundation-sdk/timeseries';
import { fewest } from './crowd.ts';
import { describe, type PanelOptions, queriesOf } from './panels.ts';
import { SERIES_COLOURS } from './style.ts';

export interface GraphOptions extends PanelOptions {
  readonly draw?: 'lines' | 'points' | 'bars';
  readonly stacked?: boolean;
  /** The second query is drawn dashed (a forecast) or downwards (the other direction). */
  readonly second?: 'dashed' | 'down';
  /** Of many nodes or stores those with the lowest values are shown, not those with the highest. */
  readonly lowest?: boolean;
}

const DRAW = {
  lines: GraphDrawStyle.Line,
  points: GraphDrawStyle.Points,
  bars: GraphDrawStyle.Bars,
};

/** Values over time; thresholds are dashed lines, gaps stay visible. The legend of a wide graph is a table beside it. */
export function graph(title: string, options: GraphOptions): TimeSeries {
  const { draw = 'lines', stacked = false, second, steps, width = 12 } = options;
  const all = queriesOf(options);
  // A stack without some of its parts would have a wrong height.
  const queries = stacked
    ? all
    : all.map((query) => fewest(query, options.lowest === true ? 'lowest' : 'highest'));
  const panel = describe(new TimeSeries(), title, { ...options, width, queries })
    .drawStyle(DRAW[draw])
    .fillOpacity(stacked ? 30 : 0)
    .showPoints(draw === 'points' ? VisibilityMode.Always : VisibilityMode.Never)
    .spanNulls(false)
    .axisSoftMin(0)
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.PaletteClassicByName))
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi))
    .legend(width >= 12 ? tableLegend() : listLegend());
  if (stacked) panel.stacking(new StackingConfigBuilder().mode(StackingMode.Normal));
  if (steps !== undefined) {
    const style = new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed);
    panel.thresholdsStyle(style);
  }
  for (const [name, fixedColor] of Object.entries(SERIES_COLOURS)) {
    panel.overrideByName(name, [{ id: 'color', value: { mode: 'fixed', fixedColor } }]);
  }
  if (second === 'dashed') {
    const value = { fill: 'dash', dash: [10, 10] };
    panel.overrideByQuery('B', [{ id: 'custom.lineStyle', value }]);
  }
  if (second === 'down') {
    panel.overrideByQuery('B', [{ id: 'custom.transform', value: 'negative-Y' }]);
  }
  return panel;
}

function tableLegend(): VizLegendOptionsBuilder {
  return new VizLegendOptionsBuilder()
    .displayMode(LegendDisplayMode.Table)
    .placement(LegendPlacement.Right)
    .showLegend(true)
    .calcs(['lastNotNull', 'max'])
    .sortBy('Last *')
    .sortDesc(true);
}

function listLegend(): VizLegendOptionsBuilder {
  return new VizLegendOptionsBuilder()
    .displayMode(LegendDisplayMode.List)
    .placement(LegendPlacement.Bottom)
    .showLegend(true)
    .calcs([]);
}
