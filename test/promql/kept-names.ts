import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { readRules } from '../rules/rule-set.ts';

/** What the result of a query still has of its series, such as their types and units: `gauge seconds`. */
type Kept = ReadonlySet<string>;

/** What is followed through a query. */
interface Tracked {
  readonly ofSeries: (name: string) => Kept;
  readonly ofAggregation: Kept;
  /** Functions and arithmetic take it away, as they do names. */
  readonly endsWithName: boolean;
}

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
  const search = new Search(query, namesOf(RECORDED));
  search.keptBy(parser.parse(query).topNode);
  return search.found;
}

const RULERS_AND_SCRAPES: Tracked = {
  ofSeries: (name) => new Set([/:|^ALERTS$/.test(name) ? 'recorded' : 'scraped']),
  ofAggregation: new Set(['aggregated']),
  endsWithName: false,
};

/**
 * Operators without `on` between what was recorded, scraped or aggregated. A ruler puts its own labels on what it records (`--label`
 * of Thanos, `-external.label` of vmalert), Thanos and Mimir keep those of each Prometheus on what it scraped, and an aggregation
 * drops both: `sum by (crdb_cluster) (a) > crdb_cluster:b:sum` matches nothing there. The result is one of the three, too, or a
 * series changes its labels with the operand that it comes from, and an alert starts its wait again.
 */
export function findLabelMatches(query: string): readonly string[] {
  const search = new Search(query, RULERS_AND_SCRAPES);
  const kept = search.keptBy(parser.parse(query).topNode);
  return kept.size > 1 ? [...search.found, [...kept].join(' or ')] : search.found;
}

function namesOf(recorded: KeptByRecorded): Tracked {
  return {
    ofSeries: (name) => recorded.get(name) ?? new Set([kindOf(name)]),
    ofAggregation: NOTHING,
    endsWithName: true,
  };
}

function keptByRecorded(): KeptByRecorded {
  const recorded = new Map<string, Kept>();
  for (const { record, expr } of readRules().flatMap(({ rules }) => rules)) {
    if (record === undefined) continue;
    // A rule that repeats itself adds nothing of its own.
    recorded.set(record, NOTHING);
    recorded.set(record, new Search(expr, namesOf(recorded)).keptBy(parser.parse(expr).topNode));
  }
  return recorded;
}

class Search {
  readonly found: string[] = [];
  readonly #query: string;
  readonly #tracked: Tracked;

  constructor(query: string, tracked: Tracked) {
    this.#query = query;
    this.#tracked = tracked;
  }

  keptBy(node: SyntaxNode): Kept {
    switch (node.name) {
      case 'VectorSelector':
        return this.#tracked.ofSeries(this.#text(node.getChild('Identifier')));
      case 'AggregateExpr': {
        const inner = this.#ofChildren(node);
        const isKept =
          KEEPING_AGGREGATIONS.test(this.#text(node)) ||
          node.getChild('AggregateModifier')?.getChild('Without');
        return isKept ? inner : this.#tracked.ofAggregation;
      }
      case 'FunctionCall': {
        const inner = this.#ofChildren(node);
        const name = this.#text(node.getChild('FunctionIdentifier'));
        const isKept = this.#tracked.endsWithName
          ? KEEPING_FUNCTIONS.test(name)
          : !name.startsWith('absent');
        return isKept ? inner : NOTHING;
      }
      case 'UnaryExpr': {
        const inner = this.#ofChildren(node);
        return this.#tracked.endsWithName ? NOTHING : inner;
      }
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
    const { ofAggregation, endsWithName } = this.#tracked;
    // What is absent has no labels to match.
    const isAbsent = !endsWithName && (ofLeft.size === 0 || ofRight.size === 0);
    if (!hasScalar && !isOn && !isAbsent && !isTheSame(ofLeft, ofRight)) {
      this.found.push(this.#text(node).replaceAll(/\s+/g, ' '));
    }
    const isNew = node.getChild('BoolModifier') || ARITHMETIC.some((name) => node.getChild(name));
    if (isNew && endsWithName) return NOTHING;
    if (hasScalar) return this.#isScalar(left) ? ofRight : ofLeft;
    if (node.getChild('Or')) return new Set([...ofLeft, ...ofRight]);
    if (node.getChild('And') || node.getChild('Unless')) return ofLeft;
    if (clause?.getChild('GroupRight')) return ofRight;
    return isOn && !clause?.getChild('GroupLeft') ? ofAggregation : ofLeft;
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
