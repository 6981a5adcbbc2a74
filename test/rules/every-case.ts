import { readCases, readCasesOfAll, type RuleCase } from './cases.ts';
import { decommissionCases } from './decommission-cases.ts';
import { safeToStopCases } from './safe-to-stop-cases.ts';
import { scanCases } from './scan-cases.ts';

/** The cases of one rule each, and of the rules that it reads. */
export const CASES: readonly RuleCase[] = [...readCases(), ...safeToStopCases(), ...scanCases()];

/** The cases of all rules together. */
export const CASES_OF_ALL: readonly RuleCase[] = [...readCasesOfAll(), ...decommissionCases()];
