import path from 'node:path';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import type { Environment } from '../../src/config/files.ts';
import { ConfigError, formatIssues } from '../../src/config/issues.ts';
import { type LoadedConfig, loadConfig } from '../../src/config/load.ts';
import type { Flags } from '../../src/config/sources.ts';
import { makeFolder } from './folder.ts';

export interface Loading {
  readonly files?: Readonly<Record<string, string>>;
  readonly flags?: Flags;
  readonly env?: Environment;
}

/** Loads a file of this content from a folder of its own, where other files may stand beside it. */
export async function loadText(
  yaml: string,
  { files, flags, env }: Loading = {},
): Promise<LoadedConfig> {
  const folder = await makeFolder({ ...files, 'exporter.yml': yaml });
  const file = path.join(folder, 'exporter.yml');
  return loadFlags({ ...flags, 'config.file': file }, env);
}

/** Loads flags and variables, without a file. */
export function loadFlags(flags: Flags, env: Environment = {}): Promise<LoadedConfig> {
  return loadConfig({ flags, env, collectors: COLLECTORS });
}

/** The problems of a configuration that cannot be used, a line each, without the temporary folder. */
export async function problemsOf(loading: Promise<LoadedConfig>): Promise<string[]> {
  const error = await loading.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ConfigError))
    throw new Error('this should not be usable', { cause: error });
  return linesOf(formatIssues(error.problems));
}

export async function warningsOf(loading: Promise<LoadedConfig>): Promise<string[]> {
  const { warnings } = await loading;
  return linesOf(formatIssues(warnings));
}

function linesOf(text: string): string[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => line.replaceAll(/\/\S*crdb-exporter-test-\w+\//g, ''));
}
