import { warnOfOtherUsers } from './files.ts';
import type { Environment } from './flags.ts';
import { type ConfigIssues, messageOf, type Place, quote } from './issues.ts';
import { findSecretFault, Secret } from './secret.ts';
import type { AnySection } from './validate.ts';

/** One secret, which may be given in three ways: `password`, `password_file` and `password_env`. */
export interface SecretKeys {
  readonly name: string;
  readonly text?: Secret | undefined;
  readonly file?: string | undefined;
  readonly variable?: string | undefined;
}

/** The keys that give a secret and are written. */
export function givenKeys(section: AnySection, name: string): string[] {
  return [name, `${name}_file`, `${name}_env`].filter((key) => section.has(key));
}

/** The secret, or undefined when it is not given; its file is read once, to see that it can be. */
export async function readSecret(
  section: AnySection,
  { name, text, file, variable }: SecretKeys,
  env: Environment,
): Promise<Secret | undefined> {
  const [first, ...others] = givenKeys(section, name);
  for (const other of others) section.report(other, `${other} beside ${first}: keep one of them`);
  if (file !== undefined) {
    return readFromFile(file, section.placeOf(`${name}_file`), section.issues);
  }
  if (variable === undefined) {
    await warnOfInlineSecret(section, name);
    return text;
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

/** Warns when every user of the machine can read or change the file of a secret or key. */
export async function warnOfSecretFile(
  path: string,
  place: Place,
  issues: ConfigIssues,
): Promise<void> {
  await warnOfOtherUsers({ path, what: 'the secret file' }, place, issues);
}

/** A secret in the configuration file makes that a secret file. */
async function warnOfInlineSecret(section: AnySection, name: string): Promise<void> {
  const place = section.placeOf(name);
  if (!section.has(name) || place.line === undefined) return;
  const what = 'this secret stands in the configuration file, and';
  await warnOfOtherUsers({ path: place.source, what }, place, section.issues);
}
