import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { nameOf, readRules, type Rule } from './rule-set.ts';

/** Functions that compare values of several times. */
const HISTORY =
  /^(?:\w+_over_time|changes|delta|deriv|idelta|increase|irate|predict_linear|rate|resets)$/;
/** The longest gap that the last value bridges: that is the current one, and no history. */
const MAX_BRIDGE_MINUTES = 10;

const RULES: readonly Rule[] = readRules().flatMap(({ rules }) => rules);

/**
 * Whether an expression, also through the recorded series that it reads, is known only to who has watched for a while. Of
 * `a or b` both sides must need a history.
 */
export function needsHistory(expr: string): boolean {
  return needs(expr, parser.parse(expr).topNode);
}

/**
 * `isShifted`: whether an offset follows. Its last operand is what it shifts, as Prometheus reads `a or b offset 1d`; the parser
 * makes one node of `a or b`, and an offset of that (findings/lezer-promql-offset-of-the-whole.sh).
 */
function needs(expr: string, node: SyntaxNode, isShifted = false): boolean {
  const textOf = (one: SyntaxNode): string => expr.slice(one.from, one.to);
  const inner = childrenOf(node);
  if (isShifted && node.name !== 'BinaryExpr') return true;
  switch (node.name) {
    case 'OffsetExpr':
      return inner[0] !== undefined && needs(expr, inner[0], true);
    case 'BinaryExpr': {
      const [left, right] = [inner[0], inner.at(-1)];
      if (left === undefined || right === undefined)
        throw new Error(`no operands: ${textOf(node)}`);
      const needsRight = (): boolean => needs(expr, right, isShifted);
      return node.getChild('Or') === null
        ? needs(expr, left) || needsRight()
        : needs(expr, left) && needsRight();
    }
    case 'FunctionCall': {
      const [called, ...body] = inner;
      const name = called === undefined ? '' : textOf(called);
      const isBridge =
        name === 'last_over_time' && bridgedMinutes(textOf(node)) <= MAX_BRIDGE_MINUTES;
      return (HISTORY.test(name) && !isBridge) || body.some((child) => needs(expr, child));
    }
    case 'VectorSelector':
      return isRemembered(textOf(node.getChild('Identifier') ?? node));
    default:
      return inner.some((child) => needs(expr, child));
  }
}

/** A recorded series that needs a history by every rule that writes it, or the alerts of the past. */
function isRemembered(name: string): boolean {
  if (name === 'ALERTS') return true;
  const writing = RULES.filter(({ record }) => record === name);
  return writing.length > 0 && writing.every(({ expr }) => needsHistory(expr));
}

/** The range of `last_over_time(x[10m])`, 1 for `[50s]`; Infinity of a range in another unit. */
function bridgedMinutes(call: string): number {
  const [, count, unit] = /\[(\d+)([ms])\]\s*\)$/.exec(call) ?? [];
  if (count === undefined) return Infinity;
  return unit === 's' ? Math.ceil(Number(count) / 60) : Number(count);
}

function childrenOf({ firstChild }: SyntaxNode): readonly SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

/** The alerts that can be known at once, by name and severity: `CrdbHeartbeatSlow critical`. */
export function alertsWithoutHistory(): readonly string[] {
  return RULES.flatMap((rule) =>
    rule.alert === undefined || needsHistory(rule.expr)
      ? []
      : [`${nameOf(rule)} ${rule.labels?.['severity'] ?? ''}`],
  );
}
