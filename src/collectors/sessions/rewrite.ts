import { messageOf, type Rewrite } from '#base';

/**
 * Rewrites names, each by the first rule whose expression occurs in it; a name that no rule knows stays. The engine is
 * RE2's: its time is linear in the name, whatever expression the user wrote. It is loaded for the first rule. Rejects on an
 * expression that `findRegexFault` objects to.
 */
export async function createRewriter(rules: readonly Rewrite[]): Promise<(name: string) => string> {
  if (rules.length === 0) return (name) => name;
  const { RE2JS } = await import('re2js');
  const compiled = rules.map(({ regex, replacement }) => {
    return { regex: RE2JS.compile(regex), replacement };
  });
  return (name) => {
    const rule = compiled.find(({ regex }) => regex.test(name));
    return rule?.regex.matcher(name).replaceAll(rule.replacement) ?? name;
  };
}

/** Says why an expression cannot be used, or undefined. */
export async function findRegexFault(regex: string): Promise<string | undefined> {
  const { RE2JS } = await import('re2js');
  try {
    RE2JS.compile(regex);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
