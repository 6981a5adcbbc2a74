import { RE2JS } from 're2js';
import type { Rewrite } from '../collector.ts';

/** Rewrites a name by the first rule whose expression occurs in it; a name that no rule knows stays. */
export type Rewriter = (name: string) => string;

/**
 * The engine is RE2's: its time is linear in the name, which clients choose, whatever expression the user wrote.
 * Throws on an expression that `findRegexFault` objects to.
 */
export function createRewriter(rules: readonly Rewrite[]): Rewriter {
  const compiled = rules.map(({ regex, replacement }) => ({
    regex: RE2JS.compile(regex),
    replacement,
  }));
  return (name) => {
    const rule = compiled.find(({ regex }) => regex.test(name));
    return rule === undefined ? name : rule.regex.matcher(name).replaceAll(rule.replacement);
  };
}

/** Says why an expression cannot be used, or undefined. */
export function findRegexFault(regex: string): string | undefined {
  try {
    RE2JS.compile(regex);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
