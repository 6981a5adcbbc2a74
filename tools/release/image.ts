import { setTimeout as sleep } from 'node:timers/promises';
import { type Finding, notChecked, problem } from './findings.ts';
import { ROOT, run, works } from './programs.ts';

const BUILDERS = ['docker', 'podman'];
/** As docs/installation.md says, and without a network: the demo brings its own cluster. */
const STRICTLY = [
  '--read-only',
  '--cap-drop=ALL',
  '--security-opt=no-new-privileges',
  '--network=none',
  '--memory=512m',
];
const LONGEST_START_MS = 60_000;
/** What release/stand-ins.sh marks its base images with; images built on them have it, too. */
const STAND_IN = 'stand-in';
const SCRAPE = "process.stdout.write(await (await fetch('http://127.0.0.1:10137/metrics')).text())";

interface Image {
  readonly Size: number;
  readonly Config: {
    readonly Labels: Readonly<Record<string, string>>;
    readonly Healthcheck?: Health;
  };
  /** Where Podman has it. */
  readonly Healthcheck?: Health;
}

interface Health {
  /** The command, after the word CMD. */
  readonly Test: readonly string[];
}

/** Builds the image, runs it, asks it as its health check and Prometheus would, and stops it. */
export async function checkImage(version: string): Promise<readonly Finding[]> {
  // The client of Docker may be there and no engine that it could speak to.
  const builder = BUILDERS.find((name) => works(name, 'version'));
  if (builder === undefined) {
    return [notChecked('the image: it takes Podman, or Docker with its engine running')];
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
      ? [notChecked('the published base images: the image was built on stand-ins')]
      : []),
  ];
}

function build(builder: string, name: string, version: string): Image {
  const revision = run('git', ['rev-parse', '--short=12', 'HEAD']).trim();
  const values = [`VERSION=${version}`, `REVISION=${revision}`, ...baseImages()];
  const args = values.flatMap((value) => ['--build-arg', value]);
  // Podman's own format knows no health checks.
  run(builder, ['build', ...args, '--tag', name, ROOT], { BUILDAH_FORMAT: 'docker' });
  const [image]: readonly Image[] = JSON.parse(run(builder, ['image', 'inspect', name]));
  if (image === undefined) throw new Error(`${builder} does not know ${name}, which it has built`);
  return image;
}

/** Other base images than those of the Dockerfile, where the environment names some. */
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
  // Its health check is run by hand, instead of by a timer that needs systemd.
  const options = ['--detach', '--no-healthcheck', ...STRICTLY];
  const id = run(builder, ['run', ...options, name, 'demo', '--scenario', 'calm']).trim();
  const exec = (words: readonly string[]): string => run(builder, ['exec', id, ...words]);
  try {
    await untilWorks(() => exec(healthCommand));
    await untilWorks(() => requireGoodPolls(exec(['/usr/local/bin/node', '--eval', SCRAPE])));
    run(builder, ['stop', id]);
    const code = run(builder, ['wait', id]).trim();
    return code === '0' ? [] : [problem(`the image, told to stop, ends with ${code} instead of 0`)];
  } finally {
    run(builder, ['rm', '--force', id]);
  }
}

function requireGoodPolls(metrics: string): void {
  for (const sample of [/^crdb_up\{.*api="cluster".*\} 1$/m, /^crdb_ranges\{.*\} [1-9]/m]) {
    if (!sample.test(metrics)) throw new Error(`the image shows no ${sample.source}`);
  }
}

async function untilWorks(work: () => unknown): Promise<void> {
  const giveUpAt = performance.now() + LONGEST_START_MS;
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
