import type { CollectorOptions } from './collector-schema.ts';
import type { Path, SourceDocument } from './document.ts';
import { isMap, quote } from './issues.ts';

const SYNTAX = 'the syntax is that of RE2, without lookaround and backreferences';

/**
 * Reports the regular expressions that the engine of their collector refuses; what is no text was refused by the schema. `path`
 * leads to the settings of all collectors. Example: `(a)\1`, a backreference.
 */
export async function checkRewrites(
  collectors: readonly CollectorOptions[],
  document: SourceDocument,
  path: Path,
): Promise<void> {
  for (const { name, options } of collectors) {
    for (const [option, spec] of Object.entries(options)) {
      const rewrites = document.valueAt([...path, name, option]);
      if (spec.kind !== 'rewrites' || !Array.isArray(rewrites)) continue;
      for (const [index, rewrite] of rewrites.entries()) {
        const regex: unknown = isMap(rewrite) ? rewrite['regex'] : undefined;
        if (typeof regex !== 'string' || regex === '') continue;
        const fault = await spec.check(regex);
        if (fault === undefined) continue;
        const reporter = document.reporterOf([...path, name, option, index]);
        reporter.report(`${quote(regex)} cannot be used: ${fault}; ${SYNTAX}`, 'regex');
      }
    }
  }
}
