// The template of the alert rules: its settings, thresholds and the alerts in it.
export {
  completeLinks,
  type FindingSettings,
  findWrongOrders,
  LIMIT_PAIRS,
  mapThresholds,
  servedRunbooks,
  type Threshold,
  type ThresholdName,
  type Thresholds,
} from './thresholds.ts';
export {
  ALERT_NAMES,
  type AlertName,
  canWait,
  findAlert,
  severityOf,
  waitSeconds,
} from './alerts.ts';
export {
  BATCH_APPLICATIONS,
  WAIT_PATTERN,
  GIVEN_SEVERITIES,
  ALERT_LABELS,
  readSettings,
  type Setting,
  SettingError,
  SETTINGS,
  type Settings,
} from './rule-settings.ts';
export { type Dialect, DIALECTS, readTemplate, writeRules } from './rules-template.ts';
