import type { Findings } from './findings.ts';
import { acceptText } from './kinds.ts';
import { scalarKind, Refusal } from './kind.ts';
import type { Kind } from './kind.ts';
import { openSection, readNeeded } from './section.ts';
import type { Rows } from './section.ts';
import { show } from './raw.ts';
import type { Raw } from './raw.ts';

/** A regular expression and what a match is replaced by, both as text. */
export interface Rewrite {
  readonly regex: string;
  readonly replacement: string;
}

/** Says what is wrong with a regular expression, or undefined. The engine is the caller's choice. */
export type CheckRegex = (regex: string) => string | undefined;

/** A list of `{ regex, replacement }`, each regex checked by the engine that will run it. */
export function rewrites(check: CheckRegex): Kind<readonly Rewrite[]> {
  const members = rewriteRows(check);
  return {
    name: 'rewrites',
    standIn: [],
    write: (values) => values,
    schema: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['regex', 'replacement'],
        properties: {
          regex: members.regex.kind.schema,
          replacement: members.replacement.kind.schema,
        },
      },
    },
    parse(raw, findings) {
      if (raw.form === 'list')
        return raw.items.map((item) => parseRewrite(item, members, findings));
      findings.report(raw.place, `${show(raw)} is not a list of { regex, replacement }`);
      return [];
    },
  };
}

function rewriteRows(check: CheckRegex) {
  return {
    regex: {
      path: 'regex',
      kind: regexKind(check),
      help: 'What to look for, anchored as written.',
    },
    replacement: {
      path: 'replacement',
      kind: replacementKind,
      help: 'What a match becomes; $1 is the first group.',
    },
  } satisfies Rows;
}

function parseRewrite(raw: Raw, rows: ReturnType<typeof rewriteRows>, findings: Findings): Rewrite {
  const section = openSection(raw, Object.keys(rows), findings);
  return {
    regex: readNeeded(section, rows.regex),
    replacement: readNeeded(section, rows.replacement),
  };
}

function regexKind(check: CheckRegex): Kind<string> {
  return scalarKind({
    name: 'regex',
    standIn: '',
    schema: { type: 'string', minLength: 1 },
    accept(scalar) {
      const value = acceptText(scalar);
      if (value instanceof Refusal) return value;
      const fault = check(value);
      return fault === undefined
        ? value
        : new Refusal(
            `cannot be used: ${fault}; the syntax is that of RE2, without lookaround and backreferences`,
          );
    },
  });
}

/** May be empty: a match is then removed. */
const replacementKind: Kind<string> = scalarKind({
  name: 'text',
  standIn: '',
  schema: { type: 'string' },
  accept: ({ value }) =>
    typeof value === 'string' ? value : new Refusal('is not a text: put it in quotes'),
});
