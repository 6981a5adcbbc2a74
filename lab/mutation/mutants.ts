import { type Node, parseSync } from 'oxc-parser';

/** One small change of one source file. */
export interface Mutant {
  /** From the root of the project. */
  readonly file: string;
  readonly line: number;
  /** The lines of the file that change, before and after. */
  readonly was: string;
  readonly now: string;
  /** The whole file after the change. */
  readonly source: string;
}

/** A range of the source, in characters, and the text that replaces it. */
type Edit = readonly [start: number, end: number, text: string];

const SWAPS: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&': ['|'],
  '|': ['&'],
  '<<': ['>>'],
  '>>>': ['<<'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '++': ['--'],
  '--': ['++'],
  '+=': ['-='],
  '-=': ['+='],
};

/** Methods and functions whose opposite has the same type. */
const OPPOSITES: Readonly<Record<string, string>> = {
  min: 'max',
  max: 'min',
  some: 'every',
  every: 'some',
  floor: 'ceil',
  ceil: 'floor',
  startsWith: 'endsWith',
  toSorted: 'toReversed',
};

/** Only their `expression` runs; other nodes of these kinds are types. */
const TYPED_EXPRESSIONS = ['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression'];
const WITHOUT_CODE = ['ImportDeclaration', 'ExportAllDeclaration', 'ImportExpression'];

/** Every mutant of a file that the table above and the functions below know. */
export function listMutants(file: string, source: string): readonly Mutant[] {
  const { program, errors } = parseSync(file, source);
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`);
  return findEdits(program, source).map((edit) => mutate(file, source, edit));
}

function mutate(file: string, source: string, [start, end, text]: Edit): Mutant {
  const from = source.lastIndexOf('\n', start - 1) + 1;
  const nextBreak = source.indexOf('\n', end);
  const to = nextBreak === -1 ? source.length : nextBreak;
  return {
    file,
    line: source.slice(0, start).split('\n').length,
    was: source.slice(from, to),
    now: source.slice(from, start) + text + source.slice(end, to),
    source: source.slice(0, start) + text + source.slice(end),
  };
}

function findEdits(node: Node, source: string): readonly Edit[] {
  return [
    ...editsOf(node, source),
    ...childrenOf(node).flatMap((child) => findEdits(child, source)),
  ];
}

/** The nodes below this one that run and are no text for people. */
function childrenOf(node: Node): readonly Node[] {
  if (WITHOUT_CODE.includes(node.type)) return [];
  if (node.type.startsWith('TS') && !TYPED_EXPRESSIONS.includes(node.type)) return [];
  return Object.entries(node)
    .filter(([name]) => !isName(node, name))
    .flatMap(([, value]: [string, unknown]) => (Array.isArray(value) ? value : [value]))
    .filter(isNode);
}

/** Names of members and of modules are no values. */
function isName(node: Node, property: string): boolean {
  if (property === 'source') return node.type === 'ExportNamedDeclaration';
  return property === 'key' && 'computed' in node && !node.computed;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

function editsOf(node: Node, source: string): readonly Edit[] {
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression':
      return swapOperator(node.operator, source, [node.left.end, node.right.start]);
    case 'UpdateExpression':
      return swapOperator(node.operator, source, [node.start, node.end]);
    case 'UnaryExpression':
      return node.operator === '!' ? [[node.start, node.argument.start, '']] : [];
    case 'ConditionalExpression':
    case 'WhileStatement':
      return [negate(node.test, source)];
    case 'IfStatement':
      return [negate(node.test, source), ...dropEarlyEnd(node)];
    case 'ExpressionStatement':
      return [[node.start, node.end, ';']];
    case 'CallExpression':
      return [...swapArguments(node, source), ...takeOpposite(node.callee)];
    case 'ArrayExpression':
      return dropFirst(node.elements);
    case 'Literal':
      return changeLiteral(node, source).map((text) => [node.start, node.end, text]);
    default:
      return [];
  }
}

function swapOperator(
  operator: string,
  source: string,
  [from, to]: readonly [number, number],
): readonly Edit[] {
  const start = from + source.slice(from, to).indexOf(operator);
  return (SWAPS[operator] ?? []).map((other) => [start, start + operator.length, other]);
}

function negate({ start, end }: Node, source: string): Edit {
  return [start, end, `!(${source.slice(start, end)})`];
}

function dropEarlyEnd(node: Node & { readonly type: 'IfStatement' }): readonly Edit[] {
  const { consequent } = node;
  const last = consequent.type === 'BlockStatement' ? consequent.body.at(-1) : consequent;
  const isEnd = /^(?:Return|Throw|Continue|Break)Statement$/.test(last?.type ?? '');
  return isEnd && node.alternate === null ? [[node.start, node.end, ';']] : [];
}

function swapArguments(
  { callee, arguments: [first, second] }: Node & { readonly type: 'CallExpression' },
  source: string,
): readonly Edit[] {
  // The lowest and the highest are the same in any order.
  const isOrdered = !/^Math\.(?:min|max)$/.test(source.slice(callee.start, callee.end));
  if (first === undefined || second === undefined || !isOrdered) return [];
  const between = source.slice(first.end, second.start);
  const swapped = source.slice(second.start, second.end) + between;
  return [[first.start, second.end, swapped + source.slice(first.start, first.end)]];
}

function takeOpposite(callee: Node): readonly Edit[] {
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return [];
  const { name, start, end } = callee.property;
  const opposite = OPPOSITES[name];
  return opposite === undefined ? [] : [[start, end, opposite]];
}

function dropFirst([first, second]: readonly (Node | null)[]): readonly Edit[] {
  if (!first || second === null) return [];
  return [[first.start, second?.start ?? first.end, '']];
}

function changeLiteral(node: Node & { readonly type: 'Literal' }, source: string): string[] {
  const raw = source.slice(node.start, node.end);
  if ('regex' in node) return withoutAnchors(raw);
  const { value } = node;
  if (typeof value === 'boolean') return [String(!value)];
  if (typeof value === 'number') return value === 0 ? ['1'] : [changeNumber(value, raw), '0'];
  if (typeof value !== 'string' || isProse(value)) return [];
  return [value === '' ? "'mutant'" : "''"];
}

/** Large numbers are limits, for which one more is no change. */
function changeNumber(value: number, raw: string): string {
  return value < 100 ? `(${raw} + 1)` : `(${raw} * 2)`;
}

function withoutAnchors(pattern: string): string[] {
  const changed = [pattern.replace(/^\/\^/, '/'), pattern.replace(/\$\/([a-z]*)$/, '/$1')];
  return changed.filter((other) => other !== pattern && !other.startsWith('//'));
}

/** Three words or more are a text for people: HELP, log, error. */
function isProse(text: string): boolean {
  return text.trim().split(/\s+/).length > 2;
}
