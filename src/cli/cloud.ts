import type { Command } from 'commander';
import { defineAssistant } from './cloud/assistant.ts';
import { defineCaCert } from './cloud/ca-cert.ts';
import { defineRenameDatabase } from './cloud/rename-database.ts';
import type { Invocation } from './command.ts';

/** `cloud …`: the operations of the Cloud API. */
export function define(command: Command, invocation: Invocation): void {
  defineRenameDatabase(command, invocation);
  defineAssistant(command, invocation);
  defineCaCert(command, invocation);
}
