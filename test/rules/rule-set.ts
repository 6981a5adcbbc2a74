import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

export interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly keep_firing_for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface RuleGroup {
  readonly name: string;
  readonly interval?: string;
  readonly rules: readonly Rule[];
}

const ROOT = path.join(import.meta.dirname, '..', '..');
export const RULES_FILE = path.join(ROOT, 'config', 'prometheus', 'rules.yml');

/** Read once in a process, not by each of its files of tests. */
const RULES: { readonly groups: readonly RuleGroup[] } = parse(readFileSync(RULES_FILE, 'utf8'));

export function readRules(): readonly RuleGroup[] {
  return RULES.groups;
}

/** The file of the rules, with all groups evaluated at the interval of Prometheus: a test has no minutes. */
export function rulesOfOneInterval(): string {
  return readFileSync(RULES_FILE, 'utf8').replaceAll(/^ +interval: .*\n/gm, '');
}

/** The rules without texts of alerts, whose queries cost most of the time of promtool. */
export function withoutTexts(groups: readonly RuleGroup[]): readonly RuleGroup[] {
  return groups.map((group) => ({
    ...group,
    rules: group.rules.map(({ annotations: _texts, ...rule }) => rule),
  }));
}

export function nameOf(rule: Rule): string {
  return rule.alert ?? rule.record ?? '';
}

/** Names of rules in JSON: recorded series, and alerts in ALERTS. */
export function rulesNamedIn(json: string): ReadonlySet<string> {
  const text = json.replaceAll(String.raw`\n`, ' ');
  const recorded = text.match(/\bcrdb_cluster[a-z_]*:[a-z0-9_]+:[a-z0-9_]+/g) ?? [];
  const alerts = text.match(/\bCrdb[A-Z]\w+/g) ?? [];
  return new Set([...recorded, ...alerts]);
}

/** The groups with only the named rules and the rules that they use. */
export function closureOf(
  groups: readonly RuleGroup[],
  names: Iterable<string>,
): readonly RuleGroup[] {
  const rules = groups.flatMap((group) => group.rules);
  const wanted = new Set(names);
  // The set grows during the iteration, which visits added names too.
  for (const name of wanted) {
    for (const rule of rules.filter((one) => nameOf(one) === name)) {
      for (const used of rulesNamedIn(JSON.stringify(rule))) wanted.add(used);
    }
  }
  return groups
    .map((group) => ({ ...group, rules: group.rules.filter((rule) => wanted.has(nameOf(rule))) }))
    .filter((group) => group.rules.length > 0);
}
