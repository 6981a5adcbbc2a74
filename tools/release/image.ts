import { setTimeout as sleep } from 'node:timers/promises';
import { type Finding, notChecked, problem } from './findings.ts';
import { ROOT, run, works } from './programs.ts';

const BUILDERS = ['docker', 'podman'];
/** The options of docs/installation.md, and no network: the demo has its own cluster. */
const RESTRICTIONS = [
  '--read-only',
  '--cap-drop=ALL',
  '--security-opt=no-new-privileges',
  '--network=none',
  '--memory=512m',
];
const MAX_START_MS = 60_000;
/** The label of base images from release/stand-ins.sh; images built on them inherit it. */
const STAND_IN = 'stand-in';
const SCRAPE = "process.stdout.write(await (await fetch('http://127.0.0.1:10137/metrics')).text())";

interface Image {
  readonly Size: number;
  readonly Config: {
    readonly Labels: Readonly<Record<string, string>>;
    readonly Healthcheck?: Health;
  };
  /** The member of Podman. */
  readonly Healthcheck?: Health;
}

interface Health {
  /** The command, after the word CMD. */
  readonly Test: readonly string[];
}

/** Builds the image, runs it, runs its health check, scrapes it, and stops it. */
export async function checkImage(version: string): Promise<readonly Finding[]> {
  // Docker may be installed without a running engine.
  const builder = BUILDERS.find((name) => works(name, 'version'));
  if (builder === undefined) {
    return [notChecked('the image: needs Podman, or Docker with a running engine')];
  }
  const name = `crdb-exporter:${version}`;
  const image = build(builder, name, version);
  const { Healthcheck: health = image.Healthcheck, Labels: labels } = image.Config;
  process.stdout.write(`${name}, built by ${builder}: ${Math.round(image.Size / 1e6)} MB\n`);
  return [
    ...(health === undefined
      ? [problem('the image has no HEALTHCHECK')]
      : await tryImage(builder, name, health.Test.slice(1))),
    ...(STAND_IN in labels
      ? [notChecked('the published base images: the image was built on replacements')]
      : []),
  ];
}

function build(builder: string, name: string, version: string): Image {
  const revision = run('git', ['rev-parse', '--short=12', 'HEAD']).trim();
  const values = [`VERSION=${version}`, `REVISION=${revision}`, ...baseImages()];
  const args = values.flatMap((value) => ['--build-arg', value]);
  // The format of Podman has no health checks.
  run(builder, ['build', ...args, '--tag', name, ROOT], { BUILDAH_FORMAT: 'docker' });
  const [image]: readonly Image[] = JSON.parse(run(builder, ['image', 'inspect', name]));
  if (image === undefined) throw new Error(`${builder} does not know ${name}, which it has built`);
  return image;
}

/** Base images from the environment, instead of those of the Dockerfile. */
function baseImages(): readonly string[] {
  return ['NODE_IMAGE', 'RUNTIME_IMAGE'].flatMap((name) => {
    const image = process.env[name];
    return image === undefined ? [] : [`${name}=${image}`];
  });
}

async function tryImage(
  builder: string,
  name: string,
  healthCommand: readonly string[],
): Promise<readonly Finding[]> {
  // The health check is run here, because its timer needs systemd.
  const options = ['--detach', '--no-healthcheck', ...RESTRICTIONS];
  const id = run(builder, ['run', ...options, name, 'demo', '--scenario', 'calm']).trim();
  const exec = (words: readonly string[]): string => run(builder, ['exec', id, ...words]);
  try {
    await untilWorks(() => exec(healthCommand));
    await untilWorks(() => requirePolls(exec(['/usr/local/bin/node', '--eval', SCRAPE])));
    run(builder, ['stop', id]);
    const code = run(builder, ['wait', id]).trim();
    return code === '0'
      ? []
      : [problem(`the image exits with ${code} instead of 0 when it is stopped`)];
  } finally {
    run(builder, ['rm', '--force', id]);
  }
}

function requirePolls(metrics: string): void {
  for (const sample of [/^crdb_up\{.*api="cluster".*\} 1$/m, /^crdb_ranges\{.*\} [1-9]/m]) {
    if (!sample.test(metrics)) throw new Error(`the image exports no ${sample.source}`);
  }
}

async function untilWorks(work: () => unknown): Promise<void> {
  const giveUpAt = performance.now() + MAX_START_MS;
  for (;;) {
    try {
      work();
      return;
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
    }
    await sleep(500);
  }
}
