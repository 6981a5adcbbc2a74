export { ASSISTANT_PASSWORD } from './cloud/operations.ts';
export { createServerIdentity } from './http/certificates.ts';
export type { SimulatorOptions } from './options.ts';
export { NEW_RELEASE, OLD_RELEASE, type Quirks } from './quirks.ts';
export { RELEASES } from './releases.ts';
export { CYCLE_SECONDS } from './scenario.ts';
export { startSimulator, type Simulator } from './simulator.ts';
export type { Truth } from './truth/truth.ts';
export { SQL_MARKER } from './world/sessions.ts';
