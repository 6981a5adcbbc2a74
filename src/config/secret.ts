import { inspect } from 'node:util';
import { explainFileError, readSmallText, warnOfOtherUsers, warnOfSecretFile } from './files.ts';
import { type ConfigIssues, messageOf, type Place, quote } from './issues.ts';
import type { AnySection } from './validate.ts';

/** The variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

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

/** The keys that give a secret, as `password`, `password_file` and `password_env`; those that are written. */
export function givenKeys(section: AnySection, name: string): string[] {
  return [name, `${name}_file`, `${name}_env`].filter((key) => section.has(key));
}

/** The secret, or undefined when it is not given; its file is read once, to see that it can be. */
export async function readSecret(
  section: AnySection,
  name: string,
  env: Environment,
): Promise<Secret | undefined> {
  const [first, ...others] = givenKeys(section, name);
  for (const other of others) section.report(other, `${other} beside ${first}: keep one of them`);
  const { [name]: text, [`${name}_file`]: file, [`${name}_env`]: variable } = section.values;
  if (typeof file === 'string') {
    return readFromFile(file, section.placeOf(`${name}_file`), section.issues);
  }
  if (typeof variable !== 'string') {
    await warnOfInlineSecret(section, name);
    return text instanceof Secret ? text : undefined;
  }
  const { value, fault } = readFromVariable(variable, env);
  if (fault !== undefined) {
    section.report(`${name}_env`, `the environment variable ${quote(variable)} ${fault}`);
  }
  return value;
}

async function readFromFile(path: string, place: Place, issues: ConfigIssues): Promise<Secret> {
  const secret = Secret.fromFile(path);
  try {
    await secret.reveal();
    await warnOfSecretFile(path, place, issues);
  } catch (error) {
    issues.report(place, messageOf(error));
  }
  return secret;
}

function readFromVariable(name: string, env: Environment) {
  const text = env[name] ?? '';
  return {
    value: Secret.fromText(text, `environment variable ${name}`),
    fault: text === '' ? 'is not set' : findSecretFault(text),
  };
}

/** A secret in the configuration file makes that a secret file. */
async function warnOfInlineSecret(section: AnySection, name: string): Promise<void> {
  const place = section.placeOf(name);
  if (!section.has(name) || place.line === undefined) return;
  const what = 'this secret stands in the configuration file, and';
  await warnOfOtherUsers({ path: place.source, what }, place, section.issues);
}
