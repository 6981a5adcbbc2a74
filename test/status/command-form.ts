import type { CommandForm } from '../../src/status/index.ts';

/** Where nothing is known of how users run commands. */
export const PLAIN_FORM: CommandForm = { program: 'crdb-exporter', options: '', variables: [] };
