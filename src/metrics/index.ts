// Families, samples and their text, and the exporter's own metrics.
export { clusterFamilies, collectorFamilies, processFamilies } from './exporter-families.ts';
export {
  ClusterMetrics,
  createProcessRegistry,
  ExporterMetrics,
  type FinishedRequest,
} from './exporter-metrics.ts';
export {
  CONTENT_TYPES,
  type ExpositionFormat,
  joinExposition,
  type RenderedFamily,
} from './exposition.ts';
export {
  counter,
  type Family,
  type FamilyDefinition,
  gauge,
  gaugeHistogram,
  type OwnDefinition,
  untyped,
} from './family.ts';
export { cleanLabelValue, formatValue, labelText, MAX_LABEL_LENGTH } from './label-text.ts';
export { knownState, SampleSet } from './sample-set.ts';
export { fitBudget } from './series-budget.ts';
export { filterFamilies, renderFamilies, renderSnapshot, type Snapshot } from './snapshot.ts';
