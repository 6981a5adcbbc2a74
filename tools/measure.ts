// `npm run measure`: size and dependencies of src, and what a maintainer has to decode.
// `--verbose` lists what is counted. The forms of a failure and of a page of ranges cannot be counted by a program.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const SRC = path.join(import.meta.dirname, '..', 'src');
const SHORT_FILE_LINES = 40;

interface SourceFile {
  readonly name: string;
  readonly text: string;
  readonly lines: number;
  readonly imports: readonly Import[];
}

interface Import {
  /** A file of src, relative to it. */
  readonly target: string;
  readonly names: readonly string[];
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map(readSource);
const byName = new Map(files.map((file) => [file.name, file]));

function readSource(name: string): SourceFile {
  const text = readFileSync(path.join(SRC, name), 'utf8');
  const clauses = text.matchAll(/^(?:import|export)\s([^;]*?)\bfrom\s+'(\.[^']+)';/gms);
  const imports = Array.from(clauses, ([, names = '', specifier = '']) => ({
    target: path.posix.join(path.posix.dirname(name), specifier),
    names: readNames(names),
  }));
  return { name, text, lines: text.split('\n').length - 1, imports };
}

/** The imported names of one clause; `*` for a namespace. */
function readNames(clause: string): readonly string[] {
  if (clause.includes('*')) return ['*'];
  const listed = /\{([^}]*)\}/s.exec(clause)?.[1] ?? '';
  return listed
    .split(',')
    .map((name) => name.trim().replace(/^type /, ''))
    .flatMap((name) => name.split(' as ')[0] ?? [])
    .filter((name) => name !== '');
}

/** Names of declarations that match `pattern`, with the file of each. */
function declarations(pattern: RegExp): readonly { readonly name: string; readonly in: string }[] {
  return files.flatMap((file) =>
    Array.from(file.text.matchAll(pattern), ([, name = '']) => ({ name, in: file.name })),
  );
}

const exported = declarations(
  /^export (?:async )?(?:const|function\*?|class|type|interface|let) (\w+)/gm,
);
const types = declarations(/^(?:export )?(?:type|interface) (\w+)/gm);
const allText = files.map(({ text }) => text).join('\n');

function importersOf(name: string, file: string): number {
  return files.filter(({ imports }) =>
    imports.some(
      ({ target, names }) => target === file && (names.includes(name) || names[0] === '*'),
    ),
  ).length;
}

/** A type that is used once, as the type of a parameter. */
function isParameterBag(name: string): boolean {
  const uses = allText.match(new RegExp(`\\b${name}\\b`, 'g'))?.length ?? 0;
  return uses === 2 && new RegExp(`[\\w}\\]]\\??: ${name}\\b`).test(allText);
}

/** Groups of files that import each other, type imports included (Tarjan). */
function findCycles(): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  function visit(name: string): number {
    const index = order.size;
    order.set(name, index);
    lowest.set(name, index);
    stack.push(name);
    for (const { target } of byName.get(name)?.imports ?? []) {
      if (!byName.has(target)) continue;
      const reached = order.has(target)
        ? stack.includes(target)
          ? (order.get(target) ?? index)
          : index
        : visit(target);
      lowest.set(name, Math.min(lowest.get(name) ?? index, reached));
    }
    if (lowest.get(name) === index) {
      const group = stack.splice(stack.indexOf(name));
      if (group.length > 1) cycles.push(group.toSorted());
    }
    return lowest.get(name) ?? index;
  }
  for (const { name } of files) if (!order.has(name)) visit(name);
  return cycles;
}

/** The longest chain of imports, a file of a cycle counted once. */
function longestChain(): readonly string[] {
  const known = new Map<string, readonly string[]>();
  function chainFrom(name: string, above: ReadonlySet<string>): readonly string[] {
    const found = known.get(name);
    if (found !== undefined) return found;
    const within = new Set([...above, name]);
    let longest: readonly string[] = [];
    for (const { target } of byName.get(name)?.imports ?? []) {
      if (!byName.has(target) || within.has(target)) continue;
      const chain = chainFrom(target, within);
      if (chain.length > longest.length) longest = chain;
    }
    const chain = [name, ...longest];
    known.set(name, chain);
    return chain;
  }
  return files
    .map(({ name }) => chainFrom(name, new Set()))
    .reduce((a, b) => (b.length > a.length ? b : a), []);
}

/** Types that follow from a function's body instead of being written, and that other files import. */
const inferred = declarations(/^export type (\w+) =[^;]*?\bReturnType</gm).filter(
  (type) => importersOf(type.name, type.in) > 0,
);

/** First lines of comments that begin with a word that is no subject. */
const subjectless = files.flatMap(({ name, text }) =>
  Array.from(
    text.matchAll(
      /^ *(?:\/\/|\/\*\*) ((?:Of|That of|Those|The same|What|But for|Without|As) .*)$/gm,
    ),
    ([, comment = '']) => `${name}: ${comment}`,
  ),
);

/** The lines of the files below a folder with this ending. */
function linesBelow(folder: string, ending: string): number {
  const top = path.join(SRC, '..', folder);
  return readdirSync(top, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .reduce(
      (sum, name) => sum + readFileSync(path.join(top, name), 'utf8').split('\n').length - 1,
      0,
    );
}

const largest = files.reduce((a, b) => (b.lines > a.lines ? b : a));
const usedOnce = exported.filter((one) => importersOf(one.name, one.in) === 1);
const bags = types.filter(({ name }) => isParameterBag(name));
const cycles = findCycles();
const chain = longestChain();
const share = Math.round((100 * usedOnce.length) / exported.length);

console.log(
  `lines                               ${files.reduce((sum, { lines }) => sum + lines, 0)}`,
);
console.log(`files                               ${files.length}`);
console.log(
  `files under ${SHORT_FILE_LINES} lines                ${files.filter(({ lines }) => lines < SHORT_FILE_LINES).length}`,
);
console.log(`largest file                        ${largest.lines} (${largest.name})`);
console.log(`types and interfaces                ${types.length}`);
console.log(`types used once, for a parameter    ${bags.length}`);
console.log(`exports used by one other file      ${share} %`);
console.log(`longest import chain                ${chain.length} (${chain[0]} … ${chain.at(-1)})`);
console.log(`inferred types that cross files     ${inferred.length}`);
console.log(`comments that may lack a subject    ${subjectless.length}`);
console.log(
  `lines of tests, of rule cases       ${linesBelow('test', '.ts')}, ${linesBelow('test/rules/cases', '.yml')}`,
);
console.log(`import cycles, types included       ${cycles.length}`);
for (const cycle of cycles) console.log(`  ${cycle.join(' ')}`);
if (process.argv.includes('--verbose')) {
  console.log(`\nimport chain: ${chain.join(' → ')}`);
  console.log(
    `\nparameter types: ${bags.map(({ name, in: file }) => `${name} (${file})`).join(', ')}`,
  );
  console.log(
    `\ninferred types: ${inferred.map(({ name, in: file }) => `${name} (${file})`).join(', ')}`,
  );
  console.log(`\ncomments that may lack a subject:\n${subjectless.join('\n')}`);
  console.log(
    `\nused by one other file: ${usedOnce.map(({ name, in: file }) => `${name} (${file})`).join(', ')}`,
  );
}
