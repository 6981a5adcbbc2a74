import { holdStopSignals } from './cli/process/signals.ts';

// Before any other module is loaded.
const deliverHeldSignal = holdStopSignals();
const { runCommandLine } = await import('./cli/program.ts');
process.exitCode = await runCommandLine(process.argv.slice(2), process.env, deliverHeldSignal);
