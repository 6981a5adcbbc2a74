import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { validate } from 'dockerfile-utils';
import { describe, expect, test } from 'vitest';
import { ROOT } from './installed.ts';

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
  test('has nothing that the linter objects to', () => {
    expect(validate(DOCKERFILE)).toEqual([]);
    expect(validate(DOCKERFILE.replace('WORKDIR /app', 'WORKDIRE /app'))).not.toEqual([]);
  });

  test('ends in an image that runs as a numbered user who is not root', () => {
    expect(argumentsOf('USER')).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
  });

  test('starts the exporter and its health check without a shell', () => {
    const [health = ''] = argumentsOf('HEALTHCHECK');
    for (const command of [...argumentsOf('ENTRYPOINT'), health.slice(health.indexOf('['))]) {
      const words: readonly string[] = JSON.parse(command);
      expect(words[0]).toBe('/usr/local/bin/node');
    }
  });

  test('labels the image as the Open Container Initiative names things', () => {
    const [labels = ''] = argumentsOf('LABEL');
    for (const name of ['title', 'description', 'licenses', 'version', 'revision']) {
      expect(labels).toContain(`org.opencontainers.image.${name}="`);
    }
  });

  test('copies only what is there and what .dockerignore lets through', () => {
    const copies = DOCKERFILE.matchAll(/^COPY (?!--from)(.*) \S+$/gm);
    const sources = Array.from(copies, ([, names = '']) => names.split(' ')).flat();
    const ignore = readFileSync(path.join(ROOT, '.dockerignore'), 'utf8').split('\n');
    const allowed = ignore.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    expect(ignore).toContain('*');
    expect(new Set(sources)).toEqual(new Set(allowed));
    expect(sources.filter((name) => !existsSync(path.join(ROOT, name)))).toEqual([]);
  });
});
