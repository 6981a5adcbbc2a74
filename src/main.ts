import { holdStopSignals, runCommandLine } from '#cli';

// Before any other module is loaded.
const deliverHeldSignal = holdStopSignals();
// The compiled program is CommonJS, which has no `await` here.
void runCommandLine(process.argv.slice(2), process.env, deliverHeldSignal).then((code) => {
  process.exitCode = code;
});
