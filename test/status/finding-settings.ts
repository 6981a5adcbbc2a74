import { DEFAULT_THRESHOLDS, type FindingSettings } from '../../src/alerts/thresholds.ts';

/** The settings without a configuration. */
export const DEFAULT_FINDING_SETTINGS: FindingSettings = {
  thresholds: DEFAULT_THRESHOLDS,
  links: { runbook_url: '', dashboard_url: '' },
};
