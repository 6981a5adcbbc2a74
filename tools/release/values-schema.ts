import {
  ALERT_NAMES,
  canWait,
  DURATION,
  GIVEN_SEVERITIES,
  OWN_LABELS,
  type Setting,
  SETTINGS,
} from '#alerts';

type Schema = Readonly<Record<string, unknown>>;

/** Set by the chart, or secret: values end up in a ConfigMap. */
const NOT_IN_VALUES = ['password', 'token', 'listen_address', 'config_file', 'shard'];

const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const count: Schema = { type: 'integer', minimum: 1 };
const list: Schema = { type: 'array', items: { type: 'object' } };
const texts: Schema = { type: 'object', additionalProperties: { type: 'string' } };
/** A number with a unit, as Kubernetes reads it: `512Mi`, `50m`, 1. */
const quantities: Schema = {
  type: 'object',
  additionalProperties: {
    type: ['string', 'number'],
    pattern: '^[0-9]+(\\.[0-9]*)?([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?$',
  },
};
const variables: Schema = {
  type: 'array',
  items: {
    ...object({ name: text, value: text, valueFrom: { type: 'object' } }),
    required: ['name'],
  },
};
/** Passed to Kubernetes or the operator unchanged. */
const anything: Schema = { type: 'object' };
const duration: Schema = { type: 'string', pattern: '^([0-9]+(ms|s|m))?$' };
const names: Schema = {
  type: 'array',
  uniqueItems: true,
  items: { type: 'string', pattern: '^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$' },
};

const PATH_TYPES = ['Exact', 'Prefix', 'ImplementationSpecific'];
const hosts: Schema = {
  type: 'array',
  items: {
    ...object({
      host: text,
      paths: {
        type: 'array',
        items: { ...object({ path: text, pathType: { enum: PATH_TYPES } }), required: ['path'] },
      },
    }),
    required: ['host'],
  },
};

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
          repository: text,
          tag: { type: 'string', pattern: '^([a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?$' },
          digest: { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
          pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
          pullSecrets: list,
        }),
        config: adapt(exporter),
        existingConfigMap: text,
        secrets: names,
        env: variables,
        extraArgs: { type: 'array', items: { type: 'string', pattern: '^--' } },
        extraVolumes: list,
        extraVolumeMounts: list,
        webConfig: complete({ secret: text, scheme: { enum: ['http', 'https'] } }),
        replicas: count,
        shards: count,
        monitor: complete({
          kind: { enum: ['', 'ServiceMonitor', 'PodMonitor'] },
          namespace: text,
          namespaceSelector: anything,
          interval: duration,
          scrapeTimeout: duration,
          labels: texts,
          honorLabels: flag,
          targetLabels: { type: 'array', items: text },
          podTargetLabels: { type: 'array', items: text },
          tlsConfig: anything,
          basicAuth: anything,
          relabelings: list,
          metricRelabelings: list,
        }),
        rules: complete({ enabled: flag, labels: texts, set: ruleSettings(exporter) }),
        dashboards: complete({
          enabled: flag,
          kind: { enum: ['ConfigMap', 'GrafanaDashboard'] },
          folder: text,
          labels: texts,
          annotations: texts,
          instanceSelector: anything,
          allowCrossNamespaceImport: flag,
        }),
        ingress: {
          ...complete({ enabled: flag, className: text, annotations: texts, hosts, tls: list }),
          if: { properties: { enabled: { const: true } } },
          // oxlint-disable-next-line unicorn/no-thenable
          then: { properties: { hosts: { minItems: 1 } } },
        },
        networkPolicy: complete({
          enabled: flag,
          from: list,
          clusterPorts: { type: 'array', items: { type: 'integer', minimum: 1, maximum: 65_535 } },
        }),
        podDisruptionBudget: complete({ enabled: flag }),
        resources: {
          type: 'object',
          properties: { requests: quantities, limits: quantities },
        },
        livenessProbe: anything,
        readinessProbe: anything,
        podSecurityContext: anything,
        securityContext: anything,
        serviceAccountName: text,
        commonLabels: texts,
        podAnnotations: texts,
        podLabels: texts,
        nodeSelector: texts,
        tolerations: list,
        affinity: anything,
        topologySpreadConstraints: list,
        priorityClassName: text,
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

function object(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', additionalProperties: false, properties };
}

/** An object of values.yaml, which has every key. Helm removes a key that a user leaves empty, and its default with it. */
function complete(
  properties: Readonly<Record<string, Schema>>,
  without: readonly string[] = [],
): Schema {
  const required = Object.keys(properties).filter((name) => !without.includes(name));
  return { ...object(properties), required };
}

/** The keys of `rules --set`. */
function ruleSettings(exporter: Schema): Schema {
  const thresholds = propertiesOf(propertiesOf(exporter)['thresholds']);
  const settings = Object.entries(SETTINGS).map(([name, [kind, , about]]) => [
    name,
    { ...(kind === 'number' ? adapt(thresholds[name]) : schemaOf(kind)), description: about },
  ]);
  const severities = ALERT_NAMES.map((name) => [`severity.${name}`, { enum: GIVEN_SEVERITIES }]);
  const waits = ALERT_NAMES.filter(canWait).map((name) => [
    `for.${name}`,
    { ...text, pattern: DURATION.source },
  ]);
  const labels = OWN_LABELS.map((name) => [`label.${name}`, { not: {} }]);
  return {
    ...object(Object.fromEntries([...settings, ...severities, ...waits, ...labels])),
    patternProperties: { '^label\\.[a-zA-Z_][a-zA-Z0-9_]*$': text },
  };
}

function schemaOf(kind: Setting[0]): Schema {
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
  return Object.fromEntries(kept.map(([name, schema]) => [name, adapt(schema)]));
}

function adaptValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(adaptValue);
  return isObject(value) ? adaptObject(value) : value;
}

/** Helm's expressions have no lookahead: without it they accept more, and the exporter rejects the rest. */
function adaptPattern(pattern: string): Schema {
  const plain = pattern.replace(String.raw`(?=\d)`, '').replace(/\(\?!(?:[^()]|\([^()]*\))*\)/, '');
  return /\(\?[=!]/.test(plain) ? {} : { pattern: plain };
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
