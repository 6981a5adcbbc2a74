import { describe, expect, it } from 'vitest';
import { negotiateFormat } from '../../../src/exporter/routes/metrics.ts';

const PROMETHEUS_2_53_PROTOBUF =
  'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
const PROMETHEUS_3 =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1';

describe('the format', () => {
  it.each([
    ['Prometheus 2.53 with native histograms', PROMETHEUS_2_53_PROTOBUF, 'openmetrics'],
    ['Prometheus 3', PROMETHEUS_3, 'openmetrics'],
    [
      'a client that names the charset',
      'application/openmetrics-text; version=1.0.0; charset=utf-8,text/plain',
      'openmetrics',
    ],
    ['no header', undefined, 'text'],
    ['an empty header', '', 'text'],
    ['anything', '*/*', 'text'],
    ['a browser', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text'],
    ['an unknown type only', 'application/json', 'text'],
    ['OpenMetrics without a version', 'application/openmetrics-text', 'openmetrics'],
    [
      'OpenMetrics in capitals, quoted',
      'Application/OpenMetrics-Text; Version="1.0.0"',
      'openmetrics',
    ],
    ['an OpenMetrics that we do not write', 'application/openmetrics-text;version=2.0.0', 'text'],
    ['text preferred', 'application/openmetrics-text;q=0.4,text/plain;q=0.5', 'text'],
    ['OpenMetrics beside anything', '*/*,application/openmetrics-text', 'openmetrics'],
    ['OpenMetrics refused alone', 'application/openmetrics-text;q=0', 'text'],
    ['another text', 'text/plain;version=0.0.5,application/openmetrics-text;q=0.1', 'openmetrics'],
    ['any text preferred', 'text/*;q=0.9,application/openmetrics-text;q=0.5', 'text'],
    ['a broken quality', 'application/openmetrics-text;q=high,text/plain;q=0.1', 'text'],
  ])('for %s', (_, accept, format) => {
    expect(negotiateFormat(accept)).toBe(format);
  });
});
