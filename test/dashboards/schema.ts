import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { findNearest } from '../../src/base/nearest-word.ts';

/** The members that lead to the panels of a dashboard. */
interface BoardFile {
  readonly title: string;
  readonly panels: readonly PanelFile[];
}

interface PanelFile {
  readonly type: string;
  readonly title: string;
  readonly options?: unknown;
  readonly fieldConfig?: { readonly defaults?: { readonly custom?: unknown } };
  /** Panels of a collapsed row. */
  readonly panels?: readonly PanelFile[];
}

const SCHEMA: {
  readonly definitions: {
    readonly Kinds: { readonly properties: Readonly<Record<string, object>> };
  };
} = JSON.parse(
  readFileSync(path.join(import.meta.dirname, 'schema', 'grafana.schema.json'), 'utf8'),
);
const KINDS = Object.keys(SCHEMA.definitions.Kinds.properties);
const TYPES = KINDS.filter((kind) => kind.endsWith(' options')).map(
  (kind) => kind.split(' ')[0] ?? '',
);

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true }).addSchema(SCHEMA, 'grafana');

/** Violations of Grafana's schema, with dashboard, panel and path. */
export function faultsOf(text: string): readonly string[] {
  const board: BoardFile = JSON.parse(text);
  return [
    ...faults('dashboard', board, board.title),
    ...board.panels.flatMap((item) =>
      item.type === 'row'
        ? [
            ...faults('row', item, `${board.title} / ${item.title}`),
            ...(item.panels ?? []).flatMap((panel) => faultsOfPanel(panel, board.title)),
          ]
        : faultsOfPanel(item, board.title),
    ),
  ];
}

function faultsOfPanel(panel: PanelFile, board: string): readonly string[] {
  const { type } = panel;
  const title = `${board} / ${panel.title}`;
  if (!TYPES.includes(type)) return [`${title}: unknown type ${type}${suggest(type, TYPES)}`];
  const custom = panel.fieldConfig?.defaults?.custom ?? {};
  return [
    ...faults('panel', panel, title),
    ...faults(`${type} options`, panel.options, title, '/options'),
    ...(KINDS.includes(`${type} custom`)
      ? faults(`${type} custom`, custom, title, '/fieldConfig/defaults/custom')
      : []),
  ];
}

function faults(kind: string, value: unknown, title: string, place = ''): readonly string[] {
  const isValid = validatorOf(kind);
  if (isValid(value)) return [];
  return (isValid.errors ?? []).map((error) => `${title}: ${`${place}${inWords(error)}`.trim()}`);
}

function validatorOf(kind: string): ValidateFunction {
  const name = encodeURIComponent(kind);
  const isValid = ajv.getSchema(`grafana#/definitions/Kinds/properties/${name}`);
  if (isValid === undefined) throw new Error(`grafana.schema.json has no kind ${kind}`);
  return isValid;
}

function inWords({ instancePath, message, params }: ErrorObject): string {
  const more: unknown = params['additionalProperty'] ?? params['allowedValues'];
  return `${instancePath} ${message}${more === undefined ? '' : `: ${JSON.stringify(more)}`}`;
}

function suggest(word: string, words: readonly string[]): string {
  const nearest = findNearest(word, words);
  return nearest === undefined ? '' : `, did you mean ${nearest}?`;
}
