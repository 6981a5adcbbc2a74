import * as v from 'valibot';
import { DEFAULT_THRESHOLDS, type Thresholds } from './alert-thresholds.ts';
import { show } from './issues.ts';
import { invalid, key, rejectIf, section } from './values.ts';

// The links that alerts and findings share, and the settings of findings: these links and the thresholds.

/** Where docs/runbooks is published, unless a link says otherwise. */
export const RUNBOOK_URL = 'https://github.com/crdb-exporter/crdb-exporter/blob/main/docs/runbooks';

/** Why a text cannot be the address before the path of a page. */
export function findLinkFault(text: string): string | undefined {
  if (!/^https?:\/\/[^\s'{}]+$/.test(text)) {
    return 'not an address that begins with http:// or https://';
  }
  const isBase = /^https?:\/\/[^/?#@]+(\/[^?#]*)?$/.test(text);
  return isBase ? undefined : 'an address with a user, a query or a fragment: remove it';
}

/** An address without a slash at its end; an empty text stands for `usual`. */
function link(usual: string) {
  return v.pipe(
    v.string(invalid('is not an address: put it in quotes')),
    rejectIf((text) => {
      const fault = text === '' ? undefined : findLinkFault(text);
      return fault && `${show(text)} is ${fault}`;
    }),
    v.transform((text) => (text === '' ? usual : text.replace(/\/$/, ''))),
    v.metadata({ valueType: 'url' }),
  );
}

/** `links` of the configuration file. */
export const LINK_SECTION = section({
  runbook_url: key(v.optional(link(RUNBOOK_URL), ''), {
    help: 'Where docs/runbooks is published, for alerts and findings; empty: at the repository of the exporter.',
    examples: ['https://wiki.example.com/crdb'],
  }),
  dashboard_url: key(v.optional(link(''), ''), {
    help: 'Address of Grafana with the dashboards, for alerts and findings.',
    examples: ['https://grafana.example.com'],
  }),
});

/** Where alerts and findings lead; without a slash at the end, `dashboard_url` may be empty. */
type Links = v.InferOutput<typeof LINK_SECTION>;

/** Limits of the findings of all clusters, and the links of findings. */
export interface FindingSettings {
  readonly thresholds: Thresholds;
  readonly links: Links;
}

/** The settings without a configuration. */
export const DEFAULT_FINDING_SETTINGS: FindingSettings = {
  thresholds: DEFAULT_THRESHOLDS,
  links: { runbook_url: RUNBOOK_URL, dashboard_url: '' },
};
