import path from 'node:path';
import { CLUSTER } from './cluster-options.ts';
import type { CollectorOptions } from './collector-options.ts';
import { readDocument } from './document.ts';
import { warnOfOtherUsers } from './file-mode.ts';
import { ConfigError, UsageError } from './findings.ts';
import type { Findings } from './findings.ts';
import { CONFIG_FILE_FLAG, environmentName } from './flags.ts';
import { applyGiven, listGivens } from './givens.ts';
import type { Environment, Flags, Given } from './givens.ts';
import type { RawMap } from './raw.ts';
import { explainFileError } from './secret.ts';
import { readSmallText } from './small-file.ts';

export interface ConfigSources {
  /** The configuration file; the flag `config.file` or its variable when absent. */
  readonly file?: string | undefined;
  readonly flags: Flags;
  readonly env: Environment;
  /** The collectors there are: their switches, keys and options are part of the configuration. */
  readonly collectors: readonly CollectorOptions[];
}

const DEFAULT_CLUSTER_NAME = 'default';
const OF_CLUSTER = 'clusters[].';

/** What is written, flags over variables over the file, not yet understood. */
export async function readSettings(sources: ConfigSources, findings: Findings): Promise<RawMap> {
  const { flags, env, collectors } = sources;
  const givens = listGivens(flags, env, process.cwd(), collectors);
  const file = findFile(sources);
  if (file === undefined) return settingsWithoutFile(givens);
  const text = await readConfigFile(file);
  await warnOfConfigFile(file, findings);
  const ofProcess = givens.filter((given) => !isOfCluster(given));
  refuseClusterGivens(givens.filter(isOfCluster), file, text, findings);
  const document = readDocument(
    text,
    { name: file, folder: path.dirname(path.resolve(file)) },
    findings,
  );
  return ofProcess.reduce(applyGiven, document);
}

/** The configuration file that these sources name, if any. */
export function findFile({
  file,
  flags,
  env,
}: Omit<ConfigSources, 'collectors'>): string | undefined {
  const flag = flags[CONFIG_FILE_FLAG];
  if (file !== undefined) return file;
  if (typeof flag === 'string') return flag;
  return env[environmentName(CONFIG_FILE_FLAG)] || undefined;
}

function settingsWithoutFile(givens: readonly Given[]): RawMap {
  const place = { source: 'command line', path: '', folder: process.cwd() };
  const nothing: RawMap = { form: 'map', place, entries: new Map() };
  if (!givens.some(isOfCluster)) return givens.reduce(applyGiven, nothing);
  const value = DEFAULT_CLUSTER_NAME;
  const name: Given = {
    option: CLUSTER.name,
    raw: { form: 'scalar', place, value, isUntyped: true },
  };
  return [name, ...givens].reduce(applyGiven, nothing);
}

async function readConfigFile(file: string): Promise<string> {
  return readSmallText(file).catch((cause: unknown) => {
    const place = { source: file, path: '', folder: '' };
    const message = `cannot read the configuration file: ${explainFileError(cause)}`;
    throw new ConfigError([{ place, message }]);
  });
}

/** Who may change the file can send passwords elsewhere. */
async function warnOfConfigFile(file: string, findings: Findings): Promise<void> {
  const place = { source: file, path: '', folder: '' };
  const config = { path: file, what: 'the configuration file', isReadable: true };
  await warnOfOtherUsers(config, place, findings);
}

function isOfCluster({ option }: Given): boolean {
  return option.path.startsWith(OF_CLUSTER);
}

/** A secret's variable may stand beside a file, since the file may name it in password_env. */
function refuseClusterGivens(
  givens: readonly Given[],
  file: string,
  text: string,
  findings: Findings,
): void {
  const refused = givens.filter(({ option }) => option.flag !== undefined);
  if (refused.length > 0) {
    const names = refused.map(({ raw }) => raw.place.source).join(', ');
    throw new UsageError(
      `${names} beside the configuration file ${file}: describe the cluster in the file or by flags, not both`,
    );
  }
  for (const { raw } of givens) {
    const { source } = raw.place;
    if (text.includes(source)) continue;
    findings.warn(
      { source, path: '', folder: '' },
      'not used beside a configuration file: name it there in password_env or token_env',
    );
  }
}
