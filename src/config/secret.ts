import { inspect } from 'node:util';
import { explainFileError, readSmallText } from './files.ts';

const MASK = '<secret>';

/**
 * A password or token that cannot be printed by accident: String(), JSON, template literals and
 * util.inspect all give `<secret>`. Only `reveal()` gives the text.
 */
export class Secret {
  readonly #source: string;
  readonly #read: () => Promise<string>;
  /** The text where it does not stand in a file of its own. */
  readonly #text: string | undefined;

  private constructor(source: string, read: () => Promise<string>, text?: string) {
    this.#source = source;
    this.#read = read;
    this.#text = text;
  }

  static fromText(text: string, source: string): Secret {
    return new Secret(source, async () => text, text);
  }

  /** Read again at every `reveal()`, so that a rotated secret needs no reload. */
  static fromFile(path: string): Secret {
    return new Secret(`file ${path}`, () => readSecretFile(path));
  }

  /** The text itself. Rejects with a message that names the file when it cannot be read. */
  reveal(): Promise<string> {
    return this.#read();
  }

  /** Where it comes from, for messages: `file /run/secrets/crdb`. Never the secret itself. */
  get source(): string {
    return this.#source;
  }

  /** The same text, wherever it stands, or the same file, whatever it holds: it is read every time. */
  isSameAs(other: Secret): boolean {
    if (this.#text !== undefined) return this.#text === other.#text;
    return other.#text === undefined && this.#source === other.#source;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

async function readSecretFile(path: string): Promise<string> {
  const content = await readSmallText(path).catch((cause: unknown) => {
    throw new Error(`cannot read the secret file ${path}: ${explainFileError(cause)}`, { cause });
  });
  // Editors and `echo` end a file with a newline that nobody means; some begin it with a byte order mark.
  const text = content.replace(/^\uFEFF/, '').replace(/[\r\n]+$/, '');
  const wrong = findSecretFault(text);
  if (wrong !== undefined) throw new Error(`the secret file ${path} ${wrong}`);
  return text;
}

/** What keeps a text from being sent as a password or token, or undefined. */
export function findSecretFault(text: string): string | undefined {
  if (text === '') return 'is empty';
  if (text.includes('\0')) return 'holds a NUL character: write it as UTF-8 text';
  return /[\r\n]/.test(text) ? 'holds more than one line of text' : undefined;
}
