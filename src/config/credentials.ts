import { warnOfOtherUsers } from './file-mode.ts';
import type { Findings } from './findings.ts';
import type { Environment } from './givens.ts';
import { quote } from './raw.ts';
import type { Place } from './raw.ts';
import { findSecretFault, Secret } from './secret.ts';
import { isSet, keyOf, placeOf, read } from './section.ts';
import type { Option, Section } from './section.ts';

/** The three ways to give one secret. */
export interface SecretRows {
  readonly text: Option<Secret>;
  readonly file: Option<string>;
  readonly variable: Option<string>;
}

/** The secret given in one of three ways, or undefined when in none; its file is read once, to see that it can be. */
export async function readSecret(
  section: Section,
  rows: SecretRows,
  env: Environment,
): Promise<Secret | undefined> {
  reportSeveral(section, rows);
  const file = read(section, rows.file);
  const variable = read(section, rows.variable);
  if (file) return readFromFile(file, placeOf(section, rows.file), section.findings);
  if (variable) {
    return readFromVariable(variable, env, placeOf(section, rows.variable), section.findings);
  }
  await warnOfInlineSecret(section, rows.text);
  return read(section, rows.text);
}

function reportSeveral(section: Section, rows: SecretRows): void {
  const given = Object.values(rows).filter((row: Option<unknown>) => isSet(section, row));
  const [first, ...others] = given;
  for (const other of others) {
    const message = `${keyOf(other)} beside ${first ? keyOf(first) : ''}: keep one of them`;
    section.findings.report(placeOf(section, other), message);
  }
}

async function readFromFile(path: string, place: Place, findings: Findings): Promise<Secret> {
  const secret = Secret.fromFile(path);
  try {
    await secret.reveal();
    await warnOfSecretFile(path, place, findings);
  } catch (error) {
    findings.report(place, error instanceof Error ? error.message : String(error));
  }
  return secret;
}

/** Warns when every user of the machine can read or change the file of a secret or key. */
export async function warnOfSecretFile(
  path: string,
  place: Place,
  findings: Findings,
): Promise<void> {
  await warnOfOtherUsers({ path, what: 'the secret file' }, place, findings);
}

/** A secret that stands in the configuration itself makes a secret file of that. */
async function warnOfInlineSecret(section: Section, row: Option<Secret>): Promise<void> {
  const place = placeOf(section, row);
  if (!isSet(section, row) || place.line === undefined) return;
  const what = 'this secret stands in the configuration file, and';
  await warnOfOtherUsers({ path: place.source, what }, place, section.findings);
}

function readFromVariable(
  name: string,
  env: Environment,
  place: Place,
  findings: Findings,
): Secret {
  const value = env[name] ?? '';
  const fault = findSecretFault(value);
  if (value === '') findings.report(place, `the environment variable ${quote(name)} is not set`);
  else if (fault) findings.report(place, `the environment variable ${quote(name)} ${fault}`);
  return Secret.fromText(value, `environment variable ${name}`);
}
