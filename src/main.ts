import { holdEndSignals } from './cli/signals.ts';

// Before everything else is read.
const handOverSignals = holdEndSignals();
const { runCommandLine } = await import('./cli/program.ts');
process.exitCode = await runCommandLine(process.argv.slice(2), process.env, handOverSignals);
