import {
  ALERT_NAMES,
  canWait,
  WAIT_PATTERN,
  GIVEN_SEVERITIES,
  ALERT_LABELS,
  type Setting,
  SETTINGS,
} from '#alerts';
import {
  affinity,
  annotations,
  anything,
  basicAuth,
  count,
  flag,
  ingressHosts,
  ingressTls,
  labelKey,
  labels,
  listOf,
  mounts,
  namespace,
  namespaces,
  object,
  objectName,
  optionalName,
  peers,
  podSecurityContext,
  probe,
  references,
  relabelings,
  repository,
  resources,
  type Schema,
  scrapeDuration,
  securityContext,
  selector,
  spreads,
  tag,
  text,
  tlsConfig,
  tolerations,
  variables,
  volumes,
} from './kubernetes-schemas.ts';

/** Set by the chart, or secret: values end up in a ConfigMap. */
const NOT_IN_VALUES = ['password', 'token', 'listen_address', 'config_file', 'shard'];

/** The schema of the chart's values; `config` has the exporter's schema without keys that are not allowed there. */
export function makeValuesSchema(exporter: Schema): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...complete(
      {
        // Below another chart: Helm passes the first to every chart, the second is the usual condition of a dependency.
        global: anything,
        enabled: flag,
        image: complete({
          repository,
          tag,
          digest: { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
          pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
          pullSecrets: references,
        }),
        config: adapt(exporter),
        existingConfigMap: optionalName,
        secrets: { ...listOf(objectName), uniqueItems: true },
        env: variables,
        extraArgs: listOf({ type: 'string', pattern: '^--[a-z][-.a-z]*(=.*)?$' }),
        extraVolumes: volumes,
        extraVolumeMounts: mounts,
        webConfig: complete({ secret: optionalName, scheme: { enum: ['http', 'https'] } }),
        replicas: count,
        shards: count,
        monitor: complete({
          kind: { enum: ['', 'ServiceMonitor', 'PodMonitor'] },
          namespace,
          namespaceSelector: namespaces,
          interval: scrapeDuration,
          scrapeTimeout: scrapeDuration,
          labels,
          honorLabels: flag,
          targetLabels: listOf(labelKey),
          podTargetLabels: listOf(labelKey),
          tlsConfig,
          basicAuth,
          relabelings,
          metricRelabelings: relabelings,
        }),
        rules: complete({ enabled: flag, labels, set: ruleSettings(exporter) }),
        dashboards: complete({
          enabled: flag,
          kind: { enum: ['ConfigMap', 'GrafanaDashboard'] },
          folder: text,
          labels,
          annotations,
          instanceSelector: selector,
          allowCrossNamespaceImport: flag,
        }),
        ingress: {
          ...complete({
            enabled: flag,
            className: optionalName,
            annotations,
            hosts: ingressHosts,
            tls: ingressTls,
          }),
          if: { properties: { enabled: { const: true } } },
          // oxlint-disable-next-line unicorn/no-thenable
          then: { properties: { hosts: { minItems: 1 } } },
        },
        networkPolicy: complete({
          enabled: flag,
          from: peers,
          clusterPorts: listOf({ type: 'integer', minimum: 1, maximum: 65_535 }),
        }),
        podDisruptionBudget: complete({ enabled: flag }),
        resources,
        livenessProbe: probe,
        readinessProbe: probe,
        podSecurityContext,
        securityContext,
        serviceAccountName: optionalName,
        commonLabels: labels,
        podAnnotations: annotations,
        podLabels: labels,
        nodeSelector: labels,
        tolerations,
        affinity,
        topologySpreadConstraints: spreads,
        priorityClassName: optionalName,
      },
      ['global', 'enabled'],
    ),
    anyOf: [
      { properties: { config: { required: ['clusters'] } } },
      {
        properties: { existingConfigMap: { type: 'string', minLength: 1 } },
        required: ['existingConfigMap'],
      },
    ],
  };
}

/** An object of values.yaml, which has every key. Helm removes a key that a user leaves empty, and its default with it. */
function complete(
  properties: Readonly<Record<string, Schema>>,
  without: readonly string[] = [],
): Schema {
  const required = Object.keys(properties).filter((name) => !without.includes(name));
  return object(properties, required);
}

/** The keys of `rules --set`. */
function ruleSettings(exporter: Schema): Schema {
  const thresholds = propertiesOf(propertiesOf(exporter)['thresholds']);
  const settings = Object.entries(SETTINGS).map(([name, [kind, , about]]) => [
    name,
    {
      ...(kind === 'number' ? adapt(thresholds[name]) : schemaOf(kind, exporter)),
      description: about,
    },
  ]);
  const severities = ALERT_NAMES.map((name) => [`severity.${name}`, { enum: GIVEN_SEVERITIES }]);
  const waits = ALERT_NAMES.filter(canWait).map((name) => [
    `for.${name}`,
    { ...text, pattern: WAIT_PATTERN.source },
  ]);
  const ownLabels = ALERT_LABELS.map((name) => [`label.${name}`, { not: {} }]);
  return {
    ...object(Object.fromEntries([...settings, ...severities, ...waits, ...ownLabels])),
    patternProperties: { '^label\\.[a-zA-Z_][a-zA-Z0-9_]*$': text },
  };
}

function schemaOf(kind: Setting[0], exporter: Schema): Schema {
  if (kind.endsWith('url'))
    return adapt(propertiesOf(propertiesOf(exporter)['links'])['runbook_url']);
  return kind === 'regex' ? { ...text, minLength: 1 } : text;
}

function propertiesOf(schema: unknown): Schema {
  const properties = isObject(schema) ? schema['properties'] : undefined;
  return isObject(properties) ? properties : {};
}

function adapt(node: unknown): Schema {
  return isObject(node) ? adaptObject(node) : {};
}

function adaptObject(node: Schema): Schema {
  const { $schema: _schema, title: _title, pattern, properties, ...rest } = node;
  return {
    ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, adaptValue(value)])),
    ...(typeof pattern === 'string' && adaptPattern(pattern)),
    ...(isObject(properties) && { properties: adaptProperties(properties) }),
  };
}

function adaptProperties(properties: Schema): Schema {
  const kept = Object.entries(properties).filter(([name]) => !NOT_IN_VALUES.includes(name));
  return Object.fromEntries(
    kept.map(([name, schema]) => [name, schema === false ? false : adapt(schema)]),
  );
}

function adaptValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(adaptValue);
  return isObject(value) ? adaptObject(value) : value;
}

/** Helm's expressions have no lookahead: what must not follow is refused beside them, and an empty text where a digit must. */
function adaptPattern(pattern: string): Schema {
  const digits = String.raw`(?=\d)`;
  const [, start, unwanted, end] =
    /^([^(]*)\(\?!((?:[^()]|\([^()]*\))*)\)(.*)$/.exec(pattern) ?? [];
  if (unwanted !== undefined) {
    return { pattern: `${start}${end}`, not: { pattern: `${start}(?:${unwanted})` } };
  }
  return pattern.includes(digits)
    ? { pattern: pattern.replace(digits, ''), minLength: 1 }
    : { pattern };
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
