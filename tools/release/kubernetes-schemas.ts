// Parts of Kubernetes objects in the values of the chart, as Kubernetes and the Prometheus operator take them: they refuse others when
// the chart is installed, or start no pod, or drop what they do not know without a word.

export type Schema = Readonly<Record<string, unknown>>;

export const text: Schema = { type: 'string' };
export const flag: Schema = { type: 'boolean' };
export const count: Schema = { type: 'integer', minimum: 1 };
const seconds: Schema = { type: 'integer', minimum: 0 };
/** Passed on unchanged; Helm compares it with the types of the cluster when it installs. */
export const anything: Schema = { type: 'object' };

export function object(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): Schema {
  return {
    type: 'object',
    additionalProperties: false,
    properties,
    ...(required.length > 0 && { required }),
  };
}

export function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

const NAME = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';
/** Of a secret, a class, a service account … */
export const objectName: Schema = { type: 'string', maxLength: 253, pattern: `^${NAME}$` };
export const optionalName: Schema = { ...objectName, pattern: `^(${NAME})?$` };
export const namespace: Schema = {
  type: 'string',
  maxLength: 63,
  pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$',
};
/** With an optional prefix, as `app.kubernetes.io/name`. */
const KEY = `^(${NAME}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`;
const VALUE = '^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$';
export const labelKey: Schema = { type: 'string', pattern: KEY };
export const labels: Schema = {
  type: 'object',
  propertyNames: { pattern: KEY },
  additionalProperties: { type: 'string', pattern: VALUE },
};
export const annotations: Schema = { ...labels, additionalProperties: text };
export const selector = object({ matchLabels: labels, matchExpressions: listOf(anything) });

/** A reference has no scheme, and the tag has a key of its own. */
export const repository: Schema = {
  type: 'string',
  pattern:
    '^((\\[[0-9a-fA-F:]+\\]|[a-zA-Z0-9.-]+)(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$',
};
export const tag: Schema = { type: 'string', pattern: '^([a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?$' };
export const references = listOf(object({ name: objectName }, ['name']));

/** A number with a unit, as Kubernetes reads it: `512Mi`, `50m`, 1. */
const quantity: Schema = {
  type: ['string', 'number'],
  minimum: 0,
  pattern: '^[0-9]+(\\.[0-9]*)?([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?$',
};
/** `512m` is half a byte. */
const bytes: Schema = {
  ...quantity,
  pattern: '^[0-9]+(\\.[0-9]*)?([kMGTPE]|[KMGTPE]i|[eE][+]?[0-9]+)?$',
};
const quantities: Schema = {
  type: 'object',
  properties: { cpu: quantity, memory: bytes, 'ephemeral-storage': bytes },
  patternProperties: { '^hugepages-|/': quantity },
  additionalProperties: false,
};
export const resources = object({
  requests: quantities,
  limits: quantities,
  claims: listOf(anything),
});

const SOURCES = ['configMapKeyRef', 'fieldRef', 'fileKeyRef', 'resourceFieldRef', 'secretKeyRef'];
export const variables = listOf({
  ...object(
    {
      name: { type: 'string', pattern: '^[-._a-zA-Z][-._a-zA-Z0-9]*$' },
      value: text,
      valueFrom: {
        ...object(Object.fromEntries(SOURCES.map((source) => [source, anything]))),
        minProperties: 1,
        maxProperties: 1,
      },
    },
    ['name'],
  ),
  dependencies: { value: { properties: { valueFrom: false } } },
});

/** A volume has its name and one source, of many kinds. */
export const volumes = listOf({
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' },
  },
  required: ['name'],
  minProperties: 2,
  maxProperties: 2,
});
export const mounts = listOf(
  object(
    {
      name: text,
      mountPath: { type: 'string', minLength: 1 },
      readOnly: flag,
      recursiveReadOnly: text,
      subPath: text,
      subPathExpr: text,
      mountPropagation: text,
    },
    ['name', 'mountPath'],
  ),
);

const CONTEXT = 'appArmorProfile runAsGroup runAsNonRoot runAsUser seLinuxOptions seccompProfile';
const OF_POD =
  'fsGroup fsGroupChangePolicy seLinuxChangePolicy supplementalGroups supplementalGroupsPolicy sysctls windowsOptions';
const OF_CONTAINER =
  'allowPrivilegeEscalation capabilities privileged procMount readOnlyRootFilesystem windowsOptions';
/** A member with a mistake in its name would be dropped, and the pod run with more rights. */
export const podSecurityContext = withMembers(`${CONTEXT} ${OF_POD}`);
export const securityContext = withMembers(`${CONTEXT} ${OF_CONTAINER}`);

function withMembers(names: string): Schema {
  return object(Object.fromEntries(names.split(' ').map((member) => [member, {}])));
}

const HANDLERS = ['exec', 'grpc', 'httpGet', 'tcpSocket'];
/** One of the ways to probe, unless it is empty. */
export const probe: Schema = {
  ...object({
    ...Object.fromEntries(HANDLERS.map((handler) => [handler, anything])),
    initialDelaySeconds: seconds,
    periodSeconds: seconds,
    timeoutSeconds: seconds,
    successThreshold: seconds,
    failureThreshold: seconds,
    terminationGracePeriodSeconds: seconds,
  }),
  oneOf: [{ maxProperties: 0 }, ...HANDLERS.map((handler) => ({ required: [handler] }))],
};

export const tolerations = listOf(
  object({
    key: text,
    operator: { enum: ['Exists', 'Equal', 'Lt', 'Gt'] },
    value: text,
    effect: { enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
    tolerationSeconds: { type: 'integer' },
  }),
);
export const spreads = listOf({
  type: 'object',
  properties: { maxSkew: count, whenUnsatisfiable: { enum: ['DoNotSchedule', 'ScheduleAnyway'] } },
  required: ['maxSkew', 'topologyKey', 'whenUnsatisfiable'],
});
export const affinity = object({
  nodeAffinity: anything,
  podAffinity: anything,
  podAntiAffinity: anything,
});

const host: Schema = {
  type: 'string',
  maxLength: 253,
  pattern: `^(\\*\\.)?${NAME}$`,
  not: { pattern: '^[0-9.]+$' },
};
export const ingressHosts = listOf(
  object(
    {
      host,
      paths: {
        ...listOf(
          object(
            {
              path: { type: 'string', pattern: '^/', not: { pattern: '//' } },
              pathType: { enum: ['Exact', 'Prefix', 'ImplementationSpecific'] },
            },
            ['path'],
          ),
        ),
        minItems: 1,
      },
    },
    ['host'],
  ),
);
export const ingressTls = listOf(object({ secretName: objectName, hosts: listOf(host) }));

export const peers = listOf({
  ...object({
    podSelector: selector,
    namespaceSelector: selector,
    ipBlock: object(
      { cidr: { type: 'string', pattern: '^[0-9a-fA-F.:]+/[0-9]+$' }, except: listOf(text) },
      ['cidr'],
    ),
  }),
  minProperties: 1,
});

const secretKey = object(
  { name: objectName, key: { type: 'string', minLength: 1 }, optional: flag },
  ['name', 'key'],
);
const secretOrMap = object({ secret: secretKey, configMap: secretKey });
export const basicAuth = object({ username: secretKey, password: secretKey });
export const tlsConfig = object({
  ca: secretOrMap,
  caFile: text,
  cert: secretOrMap,
  certFile: text,
  keySecret: secretKey,
  keyFile: text,
  serverName: text,
  insecureSkipVerify: flag,
  minVersion: text,
  maxVersion: text,
});
const ACTIONS =
  'replace Replace keep Keep drop Drop hashmod HashMod labelmap LabelMap labeldrop LabelDrop labelkeep LabelKeep lowercase Lowercase uppercase Uppercase keepequal KeepEqual dropequal DropEqual'.split(
    ' ',
  );
export const relabelings = listOf(
  object({
    action: { enum: ACTIONS },
    sourceLabels: listOf(text),
    separator: text,
    targetLabel: text,
    regex: text,
    modulus: count,
    replacement: text,
  }),
);
export const namespaces = object({ any: flag, matchNames: listOf(objectName) });
/** As the operator reads it; the interval is compared with the timeout. */
export const scrapeDuration: Schema = { type: 'string', pattern: '^([0-9]+(ms|s|m))?$' };
