import { holdStopSignals } from './cli/process/signals.ts';

// Before any other module is loaded.
const deliverHeldSignal = holdStopSignals();
// The compiled program is CommonJS, which has no `await` here.
void import('./cli/program.ts').then(async ({ runCommandLine }) => {
  process.exitCode = await runCommandLine(process.argv.slice(2), process.env, deliverHeldSignal);
});
