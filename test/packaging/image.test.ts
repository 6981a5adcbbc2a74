import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { validate } from 'dockerfile-utils';
import { describe, expect, test } from 'vitest';
import { ANY_PORTS, ROOT, runProgram } from './installed.ts';

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
    const script = readFileSync(path.join(ROOT, 'config/linux/crdb-exporter'), 'utf8');
    const [, command = ''] = /^exec (.+) "\$@"$/m.exec(script) ?? [];
    const [, ...words] = command.split(' ');
    const { status, stderr } = spawnSync(process.execPath, [...words.slice(0, -1), '--eval', '0']);
    expect([status, String(stderr)]).toEqual([0, '']);
  });

  test('has a health check that detects a running exporter', async () => {
    const [health = ''] = argumentsOf('HEALTHCHECK');
    const [, ...words]: readonly string[] = JSON.parse(health.slice(health.indexOf('[')));
    const launcher = path.join(ROOT, 'bin', 'crdb-exporter.cjs');
    await using demo = runProgram(process.execPath, [launcher, 'demo', ...ANY_PORTS]);
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

  test('is built from all that the npm package contains and nothing but existing files', () => {
    const ignore = readFileSync(path.join(ROOT, '.dockerignore'), 'utf8').trim().split('\n');
    expect(ignore).toContain('*');
    const allowed = ignore.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    expect(allowed.filter((name) => globSync(name, { cwd: ROOT }).length === 0)).toEqual([]);
    const { files }: { readonly files: readonly string[] } = JSON.parse(
      readFileSync(path.join(ROOT, 'package.json'), 'utf8'),
    );
    const needed = files.map((name) => name.replace(/^\//, '')).filter((name) => name !== 'dist');
    const missing = needed.filter(
      (name) => !allowed.some((one) => name === one || name.startsWith(`${one}/`)),
    );
    expect(missing).toEqual([]);
  });
});
