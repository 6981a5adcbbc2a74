import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { findNearest } from '../../src/base/nearest-word.ts';
import type { KnownSeries } from './known.ts';

export interface Checked {
  /** Error messages. */
  readonly problems: readonly string[];
  /** Labels of the result. */
  readonly labels: ReadonlySet<string>;
  /** Series in the query. */
  readonly names: ReadonlySet<string>;
}

/** Parses a query and tracks the labels of its series; reports unknown names and labels. */
export function checkQuery(query: string, known: KnownSeries): Checked {
  const checker = new Checker(query, known);
  const labels = checker.labelsOf(parser.parse(query).topNode);
  return { problems: checker.problems, labels, names: checker.names };
}

type Labels = ReadonlySet<string>;

const SET_OPERATORS = ['And', 'Or', 'Unless'];

class Checker {
  readonly problems: string[] = [];
  readonly names = new Set<string>();
  readonly #query: string;
  readonly #known: KnownSeries;

  constructor(query: string, known: KnownSeries) {
    this.#query = query;
    this.#known = known;
  }

  labelsOf(node: SyntaxNode): Labels {
    if (node.type.isError) {
      this.problems.push(`does not parse at "${this.#query.slice(node.from, node.from + 30)}"`);
    }
    switch (node.name) {
      case 'VectorSelector':
        return this.#ofSelector(node);
      case 'AggregateExpr':
        return this.#ofAggregate(node);
      case 'BinaryExpr':
        return this.#ofBinary(node);
      case 'FunctionCall':
        return this.#ofFunction(node);
      default:
        return union(childrenOf(node).map((child) => this.labelsOf(child)));
    }
  }

  #ofSelector(node: SyntaxNode): Labels {
    const name = this.#text(node.getChild('Identifier'));
    this.names.add(name);
    const labels = this.#known.get(name);
    if (labels === undefined) {
      this.problems.push(`unknown metric ${name}${this.#suggest(name, [...this.#known.keys()])}`);
      return new Set();
    }
    const matchers = node.getChild('LabelMatchers');
    for (const matcher of matchers === null ? [] : childrenOf(matchers)) {
      this.#require(this.#text(matcher.getChild('LabelName')), labels, name);
    }
    return labels;
  }

  #ofAggregate(node: SyntaxNode): Labels {
    const body = node.getChild('FunctionCallBody');
    const inner = body === null ? new Set<string>() : this.labelsOf(body);
    const modifier = node.getChild('AggregateModifier');
    const grouped = modifier === null ? [] : this.#grouped(modifier.getChild('GroupingLabels'));
    for (const label of grouped) this.#require(label, inner, this.#text(body));
    const keepsLabels = /^(topk|bottomk|limitk)/.test(this.#text(node));
    if (keepsLabels) return inner;
    if (modifier?.getChild('Without')) {
      return new Set([...inner].filter((label) => !grouped.includes(label)));
    }
    return new Set(grouped);
  }

  #ofBinary(node: SyntaxNode): Labels {
    const operands = childrenOf(node).filter(
      ({ name }) => !/Modifier|^[A-Z][a-z]{1,5}$/.test(name),
    );
    const [left = new Set<string>(), right = new Set<string>()] = operands.map((operand) =>
      this.labelsOf(operand),
    );
    const [first] = operands;
    const scalar = operands.find((operand) => operand.name === 'NumberDurationLiteral');
    if (scalar !== undefined) return scalar === first ? right : left;
    const clause = node.getChild('MatchingModifierClause');
    const [matched, brought] = clause?.getChildren('GroupingLabels') ?? [];
    const on = clause?.getChild('On') ? this.#grouped(matched ?? null) : undefined;
    for (const label of on ?? []) {
      this.#require(label, left, 'the left side');
      this.#require(label, right, 'the right side');
    }
    const operator = SET_OPERATORS.find((name) => node.getChild(name));
    if (operator === 'Or') return union([left, right]);
    if (operator !== undefined) return left;
    const more = this.#grouped(brought ?? null);
    const isToLeft = clause?.getChild('GroupLeft');
    if (isToLeft || clause?.getChild('GroupRight')) {
      for (const label of more) this.#require(label, isToLeft ? right : left, 'the one side');
      return union([isToLeft ? left : right, new Set(more)]);
    }
    return on === undefined ? union([left, right]) : new Set(on);
  }

  #ofFunction(node: SyntaxNode): Labels {
    const name = this.#text(node.getChild('FunctionIdentifier'));
    const body = node.getChild('FunctionCallBody');
    const inner = body === null ? new Set<string>() : this.labelsOf(body);
    const [target, , source] = (body?.getChildren('StringLiteral') ?? []).map((literal) =>
      this.#text(literal).slice(1, -1),
    );
    if (name === 'label_replace' && target !== undefined && source !== undefined) {
      if (source !== '') this.#require(source, inner, this.#text(body));
      return new Set([...inner, target]);
    }
    return name === 'histogram_quantile'
      ? new Set([...inner].filter((label) => label !== 'le'))
      : inner;
  }

  #grouped(node: SyntaxNode | null): readonly string[] {
    return (node?.getChildren('LabelName') ?? []).map((label) => this.#text(label));
  }

  #require(label: string, labels: Labels, where: string): void {
    if (labels.has(label)) return;
    this.problems.push(`unknown label ${label} of ${where}${this.#suggest(label, [...labels])}`);
  }

  #suggest(word: string, words: readonly string[]): string {
    const nearest = findNearest(word, words) ?? words.find((one) => one.startsWith(`${word}_`));
    return nearest === undefined ? '' : `, did you mean ${nearest}?`;
  }

  #text(node: SyntaxNode | null): string {
    return node === null ? '' : this.#query.slice(node.from, node.to);
  }
}

function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

function union(sets: readonly Labels[]): Labels {
  return new Set(sets.flatMap((set) => [...set]));
}
