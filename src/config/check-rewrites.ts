import type { Rewrite } from '#base';
import type { CollectorOptions } from './collector-schema.ts';
import type { Path, SourceDocument } from './document.ts';
import { quote } from './issues.ts';

const SYNTAX = 'the syntax is that of RE2, without lookaround and backreferences';

/**
 * Reports the regular expressions that the engine of their collector refuses. `path` leads to the settings of all collectors.
 * Example: `(a)\1`, a backreference.
 */
export async function checkRewrites(
  settings: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  collectors: readonly CollectorOptions[],
  document: SourceDocument,
  path: Path,
): Promise<void> {
  for (const { name, options } of collectors) {
    for (const [option, spec] of Object.entries(options)) {
      const rewrites = settings[name]?.[option];
      if (spec.kind !== 'rewrites' || !areRewrites(rewrites)) continue;
      for (const [index, { regex }] of rewrites.entries()) {
        const fault = await spec.check(regex);
        if (fault === undefined) continue;
        const reporter = document.reporterOf([...path, name, option, index]);
        reporter.report(`${quote(regex)} cannot be used: ${fault}; ${SYNTAX}`, 'regex');
      }
    }
  }
}

/** Their schema has checked them. */
function areRewrites(list: unknown): list is readonly Rewrite[] {
  return Array.isArray(list);
}
