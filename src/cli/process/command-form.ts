import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { quoteArgument, ROOT } from '#base';
import {
  type Config,
  type Environment,
  listSecrets,
  repeatSources,
  type WrittenSources,
} from '#config';
import type { CommandForm } from '#status';

/** How users run a command with the configuration that this process was started with. */
export function readCommandForm(sources: WrittenSources, { clusters }: Config): CommandForm {
  const { env } = sources;
  const container = enterContainer(env);
  const isInContainer = container !== '';
  const { flags, variables } = repeatSources(sources, isInContainer);
  // systemd hands over credentials in a folder that root alone can read besides the service.
  const before = !isInContainer && env['CREDENTIALS_DIRECTORY'] ? 'sudo ' : container;
  const secrets = isInContainer ? [] : clusters.flatMap(listSecrets);
  const named = secrets.flatMap((secret) => secret?.variable ?? []);
  return {
    program: `${before}${quoteArgument(findProgram())}`,
    options: flags.map((flag) => ` ${quoteArgument(flag)}`).join(''),
    variables: [...new Set([...variables, ...named])],
  };
}

/** The start of a command line that runs a command in the container of this process; empty outside of containers. */
function enterContainer(env: Environment): string {
  const name = os.hostname();
  if (env['KUBERNETES_SERVICE_HOST']) {
    // In the network of its host, a pod has the name of the host; a long name is cut.
    const pod = env['POD_NAME'] || name;
    const namespace = env['POD_NAMESPACE'] || readNamespace();
    const option = namespace === undefined ? '' : `--namespace ${quoteArgument(namespace)} `;
    return `kubectl exec ${option}${quoteArgument(pod)} -- `;
  }
  // The first digits of its id are the name of a container's host, unless it was given another one.
  if (!/^[0-9a-f]{12}$/.test(name)) return '';
  if (existsSync('/run/.containerenv')) return `podman exec ${name} `;
  return existsSync('/.dockerenv') ? `docker exec ${name} ` : '';
}

/** The namespace of the pod, by the domains in which Kubernetes lets it look up names: `prod.svc.cluster.local`. */
function readNamespace(): string | undefined {
  try {
    const [, namespace] =
      /^search\s+([\w-]+)\.svc\./m.exec(readFileSync('/etc/resolv.conf', 'utf8')) ?? [];
    return namespace;
  } catch {
    return undefined;
  }
}

const NAME = 'crdb-exporter';
/** Folders that the PATH of every shell has. */
const SHARED_FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin'];

/**
 * The command by its name where every shell finds it, else the launcher of this tarball, which starts the Node.js inside, or of this
 * package or checkout.
 */
export function findProgram(): string {
  const isFound = SHARED_FOLDERS.some((folder) => existsSync(path.join(folder, NAME)));
  if (isFound) return NAME;
  const withNode = path.join(ROOT, 'bin', NAME);
  return existsSync(withNode) ? withNode : `${withNode}.cjs`;
}
