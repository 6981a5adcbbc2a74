import * as v from 'valibot';
import { mapThresholds, type Threshold } from '#alerts';
import { findUrlFault } from '#base';
import { invalid, key, rejectIf, section, showUrl, unquoteHint } from './values.ts';

/** `thresholds` of the configuration file. */
export const THRESHOLD_SECTION = section(mapThresholds(thresholdKey));

function thresholdKey({ what, min, max, isWhole, initial, help }: Threshold) {
  const isNot = invalid((input) => `is not ${what}${unquoteHint(input, Number.isFinite)}`);
  const bounded = v.pipe(v.number(isNot), v.minValue(min, isNot), v.maxValue(max, isNot));
  const schema: v.GenericSchema<number> = isWhole ? v.pipe(bounded, v.integer(isNot)) : bounded;
  const limit = v.pipe(schema, v.metadata({ valueType: 'number' }));
  return key(v.optional(limit, initial), { help });
}

/** An address without a slash at its end, or an empty text. */
export const link = v.pipe(
  v.string(invalid('is not an address: put it in quotes')),
  rejectIf((text) => {
    const fault = text === '' ? undefined : findUrlFault(text);
    return fault && `${showUrl(text)} ${fault}`;
  }),
  // Editors know the pattern and not the check.
  v.metadata({ valueType: 'url', pattern: String.raw`^(https?://[^?#\s'{}]+)?$` }),
  v.transform((text) => text.replace(/\/$/, '')),
);

/** `links` of the configuration file. */
export const LINK_SECTION = section({
  runbook_url: key(v.optional(link, ''), {
    help: 'Address of your copy of docs/runbooks, for alerts and findings; empty: the exporter serves them, alerts link to it where web.external_url is set.',
  }),
  dashboard_url: key(v.optional(link, ''), {
    help: 'Address of Grafana with the dashboards, for alerts and findings.',
  }),
});
