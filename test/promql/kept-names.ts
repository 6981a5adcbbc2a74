import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { readRules } from '../rules/rule-set.ts';

/** Types and units of the series whose names the result of a query still has: `gauge seconds`. */
type Kept = ReadonlySet<string>;

/** What the series of recording rules keep. */
type KeptByRecorded = ReadonlyMap<string, Kept>;

const NOTHING: Kept = new Set();
const ARITHMETIC = ['Add', 'Sub', 'Mul', 'Div', 'Mod', 'Pow', 'Atan2'];
const KEEPING_FUNCTIONS = /^(?:last_over_time|first_over_time|label_replace|label_join|sort\w*)$/;
const KEEPING_AGGREGATIONS = /^(?:topk|bottomk|limitk|limit_ratio)\b/;

/**
 * Operators without `on` of which one side has lost the names of its metrics. Prometheus 3.0 to 3.15 with type-and-unit-labels
 * gives a series with a name the labels __type__ and __unit__, and takes them away with the name: `x + 2 * x` matches nothing.
 */
export function findNameMatches(query: string): readonly string[] {
  const search = new Search(query, RECORDED);
  search.keptBy(parser.parse(query).topNode);
  return search.found;
}

function keptByRecorded(): KeptByRecorded {
  const recorded = new Map<string, Kept>();
  for (const { record, expr } of readRules().flatMap(({ rules }) => rules)) {
    if (record === undefined) continue;
    // A rule that repeats itself adds nothing of its own.
    recorded.set(record, NOTHING);
    recorded.set(record, new Search(expr, recorded).keptBy(parser.parse(expr).topNode));
  }
  return recorded;
}

class Search {
  readonly found: string[] = [];
  readonly #query: string;
  readonly #recorded: KeptByRecorded;

  constructor(query: string, recorded: KeptByRecorded) {
    this.#query = query;
    this.#recorded = recorded;
  }

  keptBy(node: SyntaxNode): Kept {
    switch (node.name) {
      case 'VectorSelector': {
        const name = this.#text(node.getChild('Identifier'));
        return this.#recorded.get(name) ?? new Set([kindOf(name)]);
      }
      case 'AggregateExpr': {
        const inner = this.#ofChildren(node);
        const isKept =
          KEEPING_AGGREGATIONS.test(this.#text(node)) ||
          node.getChild('AggregateModifier')?.getChild('Without');
        return isKept ? inner : NOTHING;
      }
      case 'FunctionCall': {
        const inner = this.#ofChildren(node);
        return KEEPING_FUNCTIONS.test(this.#text(node.getChild('FunctionIdentifier')))
          ? inner
          : NOTHING;
      }
      case 'UnaryExpr':
        this.#ofChildren(node);
        return NOTHING;
      case 'BinaryExpr':
        return this.#ofBinary(node);
      default:
        return this.#ofChildren(node);
    }
  }

  #ofBinary(node: SyntaxNode): Kept {
    const [left, right] = [node.firstChild, node.lastChild];
    if (left === null || right === null) return NOTHING;
    const [ofLeft, ofRight] = [this.keptBy(left), this.keptBy(right)];
    const clause = node.getChild('MatchingModifierClause');
    const isOn = clause?.getChild('On') != null;
    const hasScalar = this.#isScalar(left) || this.#isScalar(right);
    if (!hasScalar && !isOn && !isTheSame(ofLeft, ofRight)) {
      this.found.push(this.#text(node).replaceAll(/\s+/g, ' '));
    }
    if (node.getChild('BoolModifier') || ARITHMETIC.some((name) => node.getChild(name))) {
      return NOTHING;
    }
    if (hasScalar) return this.#isScalar(left) ? ofRight : ofLeft;
    if (node.getChild('Or')) return new Set([...ofLeft, ...ofRight]);
    if (node.getChild('And') || node.getChild('Unless')) return ofLeft;
    if (clause?.getChild('GroupRight')) return ofRight;
    return isOn && !clause?.getChild('GroupLeft') ? NOTHING : ofLeft;
  }

  #isScalar(node: SyntaxNode): boolean {
    switch (node.name) {
      case 'NumberDurationLiteral':
        return true;
      case 'FunctionCall':
        return /^(?:time|scalar|pi)$/.test(this.#text(node.getChild('FunctionIdentifier')));
      case 'ParenExpr':
      case 'UnaryExpr':
        return node.lastChild !== null && childrenOf(node).some((child) => this.#isScalar(child));
      case 'BinaryExpr':
        return [node.firstChild, node.lastChild].every(
          (side) => side !== null && this.#isScalar(side),
        );
      default:
        return false;
    }
  }

  #ofChildren(node: SyntaxNode): Kept {
    return new Set(childrenOf(node).flatMap((child) => [...this.keptBy(child)]));
  }

  #text(node: SyntaxNode | null): string {
    return node === null ? '' : this.#query.slice(node.from, node.to);
  }
}

/** `crdb_node_updated_timestamp_seconds` -> `gauge seconds` */
function kindOf(name: string): string {
  const type = name.endsWith('_total') ? 'counter' : 'gauge';
  const [unit = ''] = /(?<=_)(?:seconds|bytes|ratio)(?=$|_total$)/.exec(name) ?? [];
  return `${type} ${unit}`;
}

function isTheSame(left: Kept, right: Kept): boolean {
  return left.size === right.size && left.size < 2 && [...left].every((kind) => right.has(kind));
}

function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

const RECORDED = keptByRecorded();
