import { expect, test } from 'vitest';
import { hasProgram } from '../support/programs.ts';
import { testRules } from './promtool.ts';
import { closureOf, readRules } from './rule-set.ts';
import { RULE, safeToStopCase } from './safe-to-stop-cases.ts';

test.skipIf(!hasProgram('promtool'))(
  'the rule on nodes that may stop says 1 or 0 of each node, or nothing',
  { timeout: 60_000 },
  async () => {
    const { text } = await testRules(closureOf(readRules(), [RULE]), [safeToStopCase()]);
    expect(text).toContain('SUCCESS');
  },
);
