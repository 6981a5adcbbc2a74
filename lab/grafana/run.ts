// `npm run lab -- grafana [VERSION]`: installs the published @grafana/data (177 MB, too much for `npm ci`) in a temporary folder and lets
// it format, map and reduce as Grafana does: every unit, reducer, transformation and matcher of the dashboards.
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '../..');
const [version = '13.2.3'] = process.argv.slice(2);
/** Values of which each differs from the next one so much that a panel must not show both alike. */
const DIFFERENT: Readonly<Record<string, readonly number[]>> = {
  // Also of dtdurations, which without decimals shows 47 hours as "1 day".
  s: [0.004, 0.3, 5, 90, 5400, 24 * 3600, 47 * 3600, 40 * 86_400],
  percentunit: [0.01, 0.1, 0.55, 1],
  bytes: [512, 2e6, 3e9, 4.5e12],
  default: [0, 1, 12, 1500, 2.5e6],
};

interface Config {
  readonly unit?: string;
  readonly decimals?: number;
  readonly mappings?: readonly Mapping[];
}

interface Mapping {
  readonly type: string;
  readonly options: Readonly<Record<string, { readonly text?: string }>>;
}

interface Panel {
  readonly title?: string;
  readonly panels?: readonly Panel[];
  readonly targets?: readonly { readonly instant?: boolean; readonly range?: boolean }[];
  readonly transformations?: readonly { readonly id: string }[];
  readonly options?: { readonly reduceOptions?: { readonly calcs: readonly string[] } };
  readonly fieldConfig?: {
    readonly defaults: Config;
    readonly overrides: readonly {
      readonly matcher: { readonly id: string };
      readonly properties: readonly { readonly id: string; readonly value: unknown }[];
    }[];
  };
}

/** What is used of the package. */
interface GrafanaData {
  readonly FieldType: { readonly number: string };
  createTheme(): unknown;
  getDisplayProcessor(
    options: object,
  ): (value: number) => { readonly text: string; readonly suffix?: string };
  getValueFormats(): readonly { readonly submenu?: readonly { readonly value: string }[] }[];
  readonly fieldReducers: { getIfExists(id: string): unknown };
  readonly fieldMatchers: { getIfExists(id: string): unknown };
  readonly standardTransformers: Readonly<Record<string, { readonly id: string }>>;
}

function panelsOf(panels: readonly Panel[]): readonly Panel[] {
  return panels.flatMap((panel) => [panel, ...panelsOf(panel.panels ?? [])]);
}

/** The field configurations of a panel: that of all fields, and that with each override. */
function configsOf({ fieldConfig }: Panel): readonly Config[] {
  if (fieldConfig === undefined) return [];
  const { defaults, overrides } = fieldConfig;
  const own = overrides.map(({ properties }) =>
    Object.fromEntries(properties.map(({ id, value }) => [id, value])),
  );
  return [defaults, ...own.map((config) => ({ ...defaults, ...config }))];
}

function load(folder: string): GrafanaData {
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder];
  execFileSync('npm', ['install', ...flags, `@grafana/data@${version}`], { stdio: 'inherit' });
  return createRequire(path.join(folder, 'package.json'))('@grafana/data');
}

function findProblems(grafana: GrafanaData, panel: Panel): readonly string[] {
  const units = new Set(
    grafana.getValueFormats().flatMap(({ submenu = [] }) => submenu.map(({ value }) => value)),
  );
  const transformers = new Set(Object.values(grafana.standardTransformers).map(({ id }) => id));
  const { targets = [], transformations = [], options, fieldConfig } = panel;
  const calcs = options?.reduceOptions?.calcs ?? [];
  const matchers = fieldConfig?.overrides.map(({ matcher }) => matcher.id) ?? [];
  return [
    ...configsOf(panel).flatMap((config) => [
      ...(config.unit === undefined || units.has(config.unit) ? [] : [`no unit ${config.unit}`]),
      ...findAlike(grafana, config),
      ...findUnmapped(grafana, config),
    ]),
    ...calcs
      .filter((id) => grafana.fieldReducers.getIfExists(id) === undefined)
      .map((id) => `no reducer ${id}`),
    // lastNotNull skips NaN, so that a range that ends in NaN would show an older value.
    ...(calcs.length > 0 && targets.some(({ instant }) => instant !== true)
      ? ['it reduces a range']
      : []),
    ...transformations
      .filter(({ id }) => !transformers.has(id))
      .map(({ id }) => `no transformation ${id}`),
    ...matchers
      .filter((id) => grafana.fieldMatchers.getIfExists(id) === undefined)
      .map((id) => `no matcher ${id}`),
  ];
}

function display(grafana: GrafanaData, config: Config, value: number): string {
  const field = { name: 'value', type: grafana.FieldType.number, config, values: [value] };
  const { text, suffix = '' } = grafana.getDisplayProcessor({
    field,
    theme: grafana.createTheme(),
  })(value);
  return text + suffix;
}

function findAlike(grafana: GrafanaData, config: Config): readonly string[] {
  const { unit = 'short', mappings = [] } = config;
  // What is mapped has a text for each state.
  if (mappings.some(({ type }) => type === 'value') || unit.startsWith('bool')) return [];
  const kind = unit.startsWith('dt') ? 's' : unit;
  const values = DIFFERENT[kind] ?? DIFFERENT['default'] ?? [];
  const shown = values.map((value) => display(grafana, config, value));
  return shown.flatMap((text, index) =>
    index > 0 && text === shown[index - 1]
      ? [`${values[index - 1]} and ${values[index]} in ${unit} are both "${text}"`]
      : [],
  );
}

function findUnmapped(grafana: GrafanaData, config: Config): readonly string[] {
  const states = (config.mappings ?? []).filter(({ type }) => type === 'value');
  return states.flatMap(({ options }) =>
    Object.entries(options)
      .filter(([value]) => /^-?\d+$/.test(value))
      .filter(
        ([value, { text }]) =>
          text !== undefined && display(grafana, config, Number(value)) !== text,
      )
      .map(([value, { text }]) => `${value} is not "${text}"`),
  );
}

const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-grafana-'));
try {
  const grafana = load(folder);
  let panels = 0;
  let problems = 0;
  for (const file of globSync('dashboards/*.json', { cwd: ROOT }).toSorted()) {
    const board: { readonly panels: readonly Panel[] } = JSON.parse(
      readFileSync(path.join(ROOT, file), 'utf8'),
    );
    for (const panel of panelsOf(board.panels)) {
      panels += 1;
      for (const problem of new Set(findProblems(grafana, panel))) {
        problems += 1;
        console.error(`${file}: ${panel.title}: ${problem}`);
      }
    }
  }
  console.log(`@grafana/data ${version}: ${panels} panels, ${problems} problem(s)`);
  process.exitCode = problems === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
