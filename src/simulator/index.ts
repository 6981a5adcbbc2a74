export { ASSISTANT_PASSWORD } from './cloud/assistant.ts';
export type { CloudRole } from './cloud/service.ts';
export type { FaultEffect, FaultHandle, FaultRule, FaultScope } from './http/faults.ts';
export type { LoggedRequest, RequestLog } from './http/request-log.ts';
export type { Account, Listen, Privilege, SimulatorOptions } from './options.ts';
export { NEW_RELEASE, OLD_RELEASE, type Dialect, type Quirks } from './quirks.ts';
export { startSimulator, type SimulatedWorld, type Simulator } from './simulator.ts';
export type { Truth } from './truth/truth.ts';
export { SQL_MARKER } from './world/session-texts.ts';
