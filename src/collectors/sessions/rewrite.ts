import { RE2JS } from 're2js';
import type { Rewrite } from '../../collector-options.ts';
import { messageOf } from '../../format.ts';

/** Names that are remembered; further ones are rewritten each time. */
const MAX_REMEMBERED = 10_000;

/**
 * Rewrites names, each by the first rule whose expression occurs in it; a name that no rule knows stays.
 * Each name is looked at once as long as the rewriter is used, one poll. The engine is RE2's: its time is linear in the name, whatever expression the user wrote. Throws on an expression that
 * `findRegexFault` objects to.
 */
export function createRewriter(rules: readonly Rewrite[]): (name: string) => string {
  if (rules.length === 0) return (name) => name;
  const compiled = rules.map(({ regex, replacement }) => ({
    regex: RE2JS.compile(regex),
    replacement,
  }));
  /** Undefined where no rule matches. */
  const rewrite = (name: string): string | undefined => {
    const rule = compiled.find(({ regex }) => regex.test(name));
    return rule?.regex.matcher(name).replaceAll(rule.replacement);
  };
  const known = new Map<string, string | undefined>();
  return (name) => {
    if (known.has(name)) return known.get(name) ?? name;
    const rewritten = rewrite(name);
    if (known.size < MAX_REMEMBERED) known.set(name, rewritten);
    return rewritten ?? name;
  };
}

/** Says why an expression cannot be used, or undefined. */
export function findRegexFault(regex: string): string | undefined {
  try {
    RE2JS.compile(regex);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
