import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { nameOf, type Rule, type RuleGroup } from '../../../test/rules/rule-set.ts';

/** The rules with one mutation in one of them. */
export interface Mutant {
  readonly rule: string;
  /** The change and its place in the expression. */
  readonly mistake: string;
  readonly groups: readonly RuleGroup[];
}

/** Every mutation of the kinds below in every rule. */
export function listMutants(groups: readonly RuleGroup[]): readonly Mutant[] {
  return groups.flatMap((group) =>
    group.rules.flatMap((rule) =>
      mistakesIn(rule).map(({ mistake, mutated }) => ({
        rule: nameOf(rule),
        mistake,
        groups: groups.map((one) => ({
          ...one,
          rules: one.rules.map((other) => (other === rule ? mutated : other)),
        })),
      })),
    ),
  );
}

interface Mistake {
  readonly mistake: string;
  readonly mutated: Rule;
}

function mistakesIn(rule: Rule): readonly Mistake[] {
  return [...mistakesInTimes(rule), ...mistakesInExpression(rule)];
}

function mistakesInTimes(rule: Rule): readonly Mistake[] {
  // Every `keep_firing_for` is checked in rules.test.ts.
  return scaledDurations(rule.for ?? '').map((changed) => ({
    mistake: `for: ${rule.for} -> ${changed}`,
    mutated: { ...rule, for: changed },
  }));
}

function scaledDurations(text: string): readonly string[] {
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * ({ s: 1, m: 60, h: 3600, d: 86_400 }[unit] ?? 0);
  return seconds === 0 ? [] : [`${seconds * 2}s`, `${Math.ceil(seconds / 2)}s`];
}

function mistakesInExpression(rule: Rule): readonly Mistake[] {
  const found: Mistake[] = [];
  parser.parse(rule.expr).iterate({
    enter({ node }) {
      const text = rule.expr.slice(node.from, node.to);
      for (const [from, to, changed] of editsOf(node, text)) {
        const old = rule.expr.slice(from, to);
        const near = onOneLine(rule.expr.slice(0, from)).slice(-20) + old;
        const after = onOneLine(rule.expr.slice(to)).slice(0, 15);
        const expr = rule.expr.slice(0, from) + changed + rule.expr.slice(to);
        found.push({
          mistake: `${old} -> ${changed || 'nothing'} in "${near}${after}"`,
          mutated: { ...rule, expr },
        });
      }
    },
  });
  return found;
}

/** An expression without line breaks, so that mistakes have the same names however it is laid out. */
function onOneLine(expr: string): string {
  return expr.replaceAll(/\s+/g, ' ').replaceAll('( ', '(').replaceAll(' )', ')');
}

/** Places to change, with their replacements. */
type Edit = readonly [from: number, to: number, changed: string];

const SWAPS: Readonly<Record<string, readonly string[]>> = {
  Gtr: ['>=', '<'],
  Gte: ['>', '<'],
  Lss: ['<=', '>'],
  Lte: ['<', '>'],
  Eql: ['!='],
  And: ['unless', 'or'],
  Unless: ['and'],
  Or: ['and'],
  Add: ['-'],
  Sub: ['+'],
  Mul: ['/'],
  Div: ['*'],
  Max: ['min', 'sum'],
  Min: ['max'],
  Sum: ['max', 'count'],
  Avg: ['sum'],
  Count: ['sum', 'max'],
};

function editsOf(node: SyntaxNode, text: string): readonly Edit[] {
  const swaps = (SWAPS[node.name] ?? []).map((word): Edit => [node.from, node.to, word]);
  switch (node.name) {
    case 'NumberDurationLiteral':
      return numbersNear(Number(text)).map((value): Edit => [node.from, node.to, value]);
    case 'NumberDurationLiteralInDurationContext':
      return scaledDurations(text).map((value): Edit => [node.from, node.to, value]);
    case 'UnquotedLabelMatcher':
      return [withoutComma(node), negated(node, text)].filter((edit) => edit !== undefined);
    case 'LabelName':
      return node.parent?.name === 'GroupingLabels' ? [withoutComma(node)] : [];
    default:
      return swaps;
  }
}

function numbersNear(value: number): readonly string[] {
  // Small whole numbers are mostly compared with counts, between which there is nothing.
  if (Number.isInteger(value) && value < 5) return [String(value + 1), String(value - 1)];
  return [String(value * 1.25), String(value * 0.8)];
}

/** Removes a member of a list, with one comma if there is one. */
function withoutComma(node: SyntaxNode): Edit {
  const { prevSibling, nextSibling } = node;
  if (nextSibling !== null) return [node.from, nextSibling.from, ''];
  return [prevSibling === null ? node.from : prevSibling.to, node.to, ''];
}

function negated(node: SyntaxNode, text: string): Edit | undefined {
  const [operator = ''] = /!=|=~|!~|=/.exec(text) ?? [];
  const opposite = { '=': '!=', '!=': '=', '=~': '!~', '!~': '=~' }[operator];
  if (opposite === undefined) return undefined;
  const from = node.from + text.indexOf(operator);
  return [from, from + operator.length, opposite];
}
