import { inspect } from 'node:util';
import * as v from 'valibot';
import { readTextFile } from './files.ts';
import type { AnySection } from './validate.ts';
import { invalid, NOT_TEXT, rejectIf } from './values.ts';

/** The variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

const MASK = '<secret>';

/**
 * A password or token that cannot be printed by accident: String(), JSON, template literals and
 * util.inspect all give `<secret>`. Only `reveal()` gives the text.
 */
export class Secret {
  /** Empty for a secret in a file of its own. */
  readonly #text: string;
  readonly #file: string | undefined;
  readonly #variable: string | undefined;

  private constructor(text: string, file?: string, variable?: string) {
    this.#text = text;
    this.#file = file;
    this.#variable = variable;
  }

  /** `variable` is the environment variable that the configuration names for it, if any. */
  static fromText(text: string, variable?: string): Secret {
    return new Secret(text, undefined, variable);
  }

  /** Read again at every `reveal()`, so that a rotated secret needs no reload. */
  static fromFile(path: string): Secret {
    return new Secret('', path);
  }

  /** The text itself. Rejects with a message that names the file when it cannot be read. */
  async reveal(): Promise<string> {
    return this.#file === undefined ? this.#text : readSecretFile(this.#file);
  }

  /** The key `name` as a configuration file gives it: a file or variable is named, a text is masked. */
  describe(name: string): readonly [key: string, value: string] {
    if (this.#file !== undefined) return [`${name}_file`, this.#file];
    return this.#variable === undefined ? [name, MASK] : [`${name}_env`, this.#variable];
  }

  /** True for the same text from any source, or the same file with any content: it is read every time. */
  isSameAs(other: Secret): boolean {
    return this.#text === other.#text && this.#file === other.#file;
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
  const content = await readTextFile(path, `the secret file ${path}`);
  // Editors and `echo` end a file with a newline; some begin it with a byte order mark.
  const text = content.replace(/^\uFEFF/, '').replace(/[\r\n]+$/, '');
  const wrong = findSecretFault(text);
  if (wrong !== undefined) throw new Error(`the secret file ${path} ${wrong}`);
  return text;
}

/** Returns the reason why a text cannot be sent as a password or token, or undefined. */
export function findSecretFault(text: string): string | undefined {
  if (text === '') return 'is empty';
  if (text.includes('\0')) return 'holds a NUL character: write it as UTF-8 text';
  return /[\r\n]/.test(text) ? 'holds more than one line of text' : undefined;
}

/** A password or token itself. Its messages never show it. */
export const secretText = v.pipe(
  v.string(invalid(NOT_TEXT, 'the secret')),
  v.nonEmpty('the secret is empty'),
  rejectIf((secret) => {
    const fault = findSecretFault(secret);
    return fault && `the secret ${fault}`;
  }),
  v.transform((secret) => Secret.fromText(secret)),
  v.metadata({ valueType: 'secret' }),
);

/** The keys that give a secret, as `password`, `password_file` and `password_env`; those that are written. */
export function writtenKeys(section: AnySection, name: string): string[] {
  return [name, `${name}_file`, `${name}_env`].filter((key) => section.has(key));
}
