/** The text of the value that an object or array, as JSON.parse returned it, has at a key or index. */
export type Sources = (holder: object, key: string | number) => string;

const STRING = /"(?:[^"\\]|\\.)*"/y;
const SCALAR = /[^\s,\]}]+/y;
const BLANKS = /\s*/y;
const SEPARATORS = /[\s,:]*/y;
const END = /[\s,]*[\]}]/y;

/** Finds the texts of all values in a valid document, of which JSON.parse made `parsed`. */
export function sourcesOf(text: string, parsed: unknown): Sources {
  const sources = new Map<object, Map<string, string>>();
  let at = 0;

  function take(pattern: RegExp): string {
    pattern.lastIndex = at;
    const [found = ''] = pattern.exec(text) ?? [];
    at += found.length;
    return found;
  }

  /** Moves over the text of a value and returns it. */
  function walk(value: unknown): string {
    take(BLANKS);
    const start = at;
    const open = text[at];
    if (open === '"') take(STRING);
    else if (open === '{' || open === '[') walkItems(open === '{', isHolder(value) ? value : {});
    else take(SCALAR);
    return text.slice(start, at);
  }

  /** When a key occurs twice, the last value counts: it is the one that `holder` has. */
  function walkItems(hasKeys: boolean, holder: Readonly<Record<string, unknown>>): void {
    const texts = new Map<string, string>();
    at++;
    for (let index = 0; take(END) === ''; index++) {
      take(SEPARATORS);
      const key = hasKeys ? String(JSON.parse(take(STRING))) : String(index);
      take(SEPARATORS);
      texts.set(key, walk(Object.hasOwn(holder, key) ? holder[key] : undefined));
    }
    sources.set(holder, texts);
  }

  walk(parsed);
  return (holder, key) => sources.get(holder)?.get(String(key)) ?? '';
}

function isHolder(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
