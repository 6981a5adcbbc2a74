import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { validate } from 'dockerfile-utils';
import { describe, expect, test } from 'vitest';
import { ROOT, runProgram } from './installed.ts';

const PINNED = /^[\w./-]+:[\w.-]+@sha256:[\da-f]{64}$/;
const DOCKERFILE = readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8');

/** Instructions of the last stage, continued lines joined. */
function lastStage(): readonly string[] {
  const lines = DOCKERFILE.replaceAll('\\\n', '').split('\n');
  return lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
}

function argumentsOf(instruction: string): readonly string[] {
  return lastStage()
    .filter((line) => line.startsWith(`${instruction} `))
    .map((line) => line.slice(instruction.length + 1));
}

describe('the Dockerfile', () => {
  test('passes the linter', () => {
    expect(validate(DOCKERFILE)).toEqual([]);
    expect(validate(DOCKERFILE.replace('WORKDIR /app', 'WORKDIRE /app'))).not.toEqual([]);
  });

  test('pins its base images by digest', () => {
    const images = Array.from(
      DOCKERFILE.matchAll(/^ARG (\w+_IMAGE)=(.*)$/gm),
      ([, ...each]) => each,
    );
    for (const [, image] of images) expect(image).toMatch(PINNED);
    const names = images.map(([name]) => `\${${name}}`);
    const bases = Array.from(DOCKERFILE.matchAll(/^FROM (?:--\S+ )?(\S+)/gm), ([, base]) => base);
    expect(new Set(bases)).toEqual(new Set(names));
  });

  test('runs the image as a numeric user other than root', () => {
    expect(argumentsOf('USER')).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
  });

  test('starts the exporter as process 1, by the command that it has in its PATH', () => {
    expect(argumentsOf('ENTRYPOINT')).toEqual(['["/usr/local/bin/crdb-exporter"]']);
    const launcher = readFileSync(path.join(ROOT, 'config/image/crdb-exporter'), 'utf8');
    const [, command = ''] = /^exec (.+) "\$@"$/m.exec(launcher) ?? [];
    const [node, ...words] = command.split(' ');
    expect([node, words.at(-1)]).toEqual(['/usr/local/bin/node', '/app/dist/src/main.js']);
    const { status, stderr } = spawnSync(process.execPath, [...words.slice(0, -1), '--eval', '0']);
    expect([status, String(stderr)]).toEqual([0, '']);
  });

  test('has a health check that detects a running exporter', async () => {
    const [health = ''] = argumentsOf('HEALTHCHECK');
    const [, ...words]: readonly string[] = JSON.parse(health.slice(health.indexOf('[')));
    const launcher = path.join(ROOT, 'bin', 'crdb-exporter.cjs');
    await using demo = runProgram(process.execPath, [launcher, 'demo', '--scenario', 'calm']);
    const [, address = ''] = await demo.said(/Exporter +http:\/\/(\S+)\//);
    const check = async (): Promise<unknown> => {
      const args = words.map((word) => word.replace('127.0.0.1:10137', address));
      const [status]: unknown[] = await once(spawn(process.execPath, args), 'exit');
      return status;
    };
    expect(await check()).toBe(0);
    await demo.stop();
    expect(await check()).toBe(1);
  });

  test('holds what the program reads beside itself: rules and runbooks', async () => {
    const image = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-image-'));
    try {
      for (const copied of argumentsOf('COPY').filter((names) => !names.startsWith('--from'))) {
        const names = copied.split(' ');
        const target = path.join(image, names.pop() ?? '');
        for (const name of names) {
          // Of a folder the content is copied.
          const isFolder = statSync(path.join(ROOT, name)).isDirectory();
          const place = isFolder ? target : path.join(target, path.basename(name));
          cpSync(path.join(ROOT, name), place, { recursive: true });
        }
      }
      for (const folder of ['src', 'simulator']) {
        cpSync(path.join(ROOT, folder), path.join(image, 'app/dist', folder), { recursive: true });
      }
      symlinkSync(path.join(ROOT, 'node_modules'), path.join(image, 'app/node_modules'));
      const main = path.join(image, 'app/dist/src/main.ts');
      const { stdout } = spawnSync(process.execPath, [main, 'rules'], { encoding: 'utf8' });
      expect(stdout).toBe(readFileSync(path.join(ROOT, 'config/prometheus/rules.yml'), 'utf8'));
      const flags = ['--cluster.url=http://127.0.0.1:9', '--web.listen-address=127.0.0.1:0'];
      await using exporter = runProgram(process.execPath, [main, ...flags]);
      const [, url = ''] = await exporter.said(/listening address=(\S+)/);
      expect((await fetch(`${url}/runbooks/CrdbNodeDead`)).status).toBe(200);
    } finally {
      rmSync(image, { recursive: true });
    }
  });

  test('copies only existing files that .dockerignore includes', () => {
    const copies = DOCKERFILE.matchAll(/^COPY (?!--from)(.*) \S+$/gm);
    const sources = Array.from(copies, ([, names = '']) => names.split(' ')).flat();
    const ignore = readFileSync(path.join(ROOT, '.dockerignore'), 'utf8').split('\n');
    const allowed = ignore.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    expect(ignore).toContain('*');
    expect(new Set(sources)).toEqual(new Set(allowed));
    expect(sources.filter((name) => !existsSync(path.join(ROOT, name)))).toEqual([]);
  });
});
