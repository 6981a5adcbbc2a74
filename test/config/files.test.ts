import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import {
  explainFileError,
  type FileWatch,
  readPemFile,
  readTextFile,
  watchFiles,
} from '../../src/config/files.ts';
import { makeFolder } from './folder.ts';

interface Watched {
  readonly watch: FileWatch<string>;
  readonly put: (name: string, text: string) => Promise<void>;
  readonly drop: (name: string) => Promise<void>;
  readonly events: string[];
}

/** Watches a file that is a list of other files; its content is theirs, of which `bad` cannot be used. */
async function watchList(files: Readonly<Record<string, string>>, everyMs = 20): Promise<Watched> {
  const folder = await makeFolder(files);
  const events: string[] = [];
  let named: readonly string[] = [path.join(folder, 'list')];
  const watch = await watchFiles<string>({
    files: () => named,
    everyMs,
    async read() {
      const list = (await readFile(path.join(folder, 'list'), 'utf8')).split(' ');
      named = ['list', ...list].map((name) => path.join(folder, name));
      const texts = await Promise.all(
        list.map((name) => readFile(path.join(folder, name), 'utf8')),
      );
      if (texts.includes('bad')) throw new Error('bad content');
      return texts.join();
    },
    onChange: (content) => events.push(content),
    onError: (error) => events.push(String(error)),
  });
  onTestFinished(() => watch[Symbol.dispose]());
  return {
    watch,
    put: (name, text) => writeFile(path.join(folder, name), text),
    drop: (name) => rm(path.join(folder, name)),
    events,
  };
}

test('files that cannot be used at the start are an error', async () => {
  await expect(watchList({ list: 'a', a: 'bad' })).rejects.toThrow('bad content');
});

test('a new content is loaded, with the files that it names', async () => {
  const { watch, put, events } = await watchList({ list: 'a', a: '1', b: '2' });
  const loaded: string[] = [];
  watch.onReload((content) => loaded.push(content));
  expect(watch.current()).toBe('1');
  await put('list', 'a b');
  await expect.poll(() => watch.current()).toBe('1,2');
  await put('b', '3');
  await expect.poll(() => watch.current()).toBe('1,3');
  expect(events).toEqual(['1,2', '1,3']);
  expect(loaded).toEqual(['1,2', '1,3']);
});

test('the previous content is kept until a valid one follows', async () => {
  const { watch, put, drop, events } = await watchList({ list: 'a', a: '1' });
  await put('a', 'bad');
  await expect.poll(() => watch.failure()).toBeDefined();
  expect(watch.current()).toBe('1');
  await drop('a');
  await expect.poll(() => events).toHaveLength(2);
  expect(watch.failure()).toBeDefined();
  await put('a', '2');
  await expect.poll(() => watch.failure()).toBeUndefined();
  expect(watch.current()).toBe('2');
  expect(events).toEqual(['Error: bad content', expect.stringContaining('ENOENT'), '2']);
});

test('a reload does not wait for the next check and reports to the caller alone', async () => {
  const { watch, put, events } = await watchList({ list: 'a', a: '1' }, 3_600_000);
  await put('a', '2');
  await watch.reload();
  expect(watch.current()).toBe('2');
  await put('a', 'bad');
  await expect(watch.reload()).rejects.toThrow('bad content');
  expect(watch.current()).toBe('2');
  expect(watch.failure()).toMatchObject({ error: expect.any(Error) });
  expect(events).toEqual([]);
});

test('a watch that is disposed of during a check makes no other', async () => {
  const folder = await makeFolder({ a: '1' });
  const file = path.join(folder, 'a');
  let looks = 0;
  const ended = Promise.withResolvers<void>();
  const watch = await watchFiles({
    files() {
      looks += 1;
      return [file];
    },
    everyMs: 5,
    async read(isRunning?: boolean) {
      if (isRunning) watch[Symbol.dispose]();
      return true;
    },
    onChange: () => ended.resolve(),
  });
  await writeFile(file, '2');
  await ended.promise;
  const before = looks;
  await writeFile(file, '3');
  await sleep(50);
  expect(looks).toBe(before);
});

test('a file of 1 MiB is read whole', async () => {
  const content = 'é'.repeat(512 * 1024);
  const folder = await makeFolder({ a: content });
  expect((await readTextFile(path.join(folder, 'a'), 'it')) === content).toBe(true);
});

/** Makes something at a path that is not a small regular file, and what is said of it. */
const NO_PIPE = 'it is a pipe, socket or device: name a regular file';
test.each<readonly [string, (at: string) => Promise<void> | void, string]>([
  ['a named pipe', (at) => void execFileSync('mkfifo', [at]), NO_PIPE],
  ['a link to a device', (at) => symlink('/dev/zero', at), NO_PIPE],
  ['a directory', (at) => mkdir(at), 'it is a directory'],
  [
    'a file that is too large',
    (at) => writeFile(at, Buffer.alloc(1024 * 1024 + 1, '#')),
    'it is larger than 1 MiB: is it the right file?',
  ],
  [
    'a text in Latin-1, whose letters would be others,',
    (at) => writeFile(at, 'café', 'latin1'),
    'it is not UTF-8 text: save it as UTF-8',
  ],
  ['nothing', () => undefined, 'there is no such file'],
])('%s is refused at once', async (_what, make, reason) => {
  const file = path.join(await makeFolder(), 'file');
  await make(file);
  await expect(readTextFile(file, 'it')).rejects.toThrow(`cannot read it: ${reason}`);
});

test('a comment beside certificates may be in Latin-1', async () => {
  const file = path.join(await makeFolder(), 'ca.crt');
  await writeFile(file, '# Autorité\n-----BEGIN', 'latin1');
  expect(await readPemFile(file, 'it')).toContain('\n-----BEGIN');
});

test.each([
  ['ENOENT', 'there is no such folder'],
  ['ENOSPC', 'no space left on the device'],
  ['EACCES', 'permission denied'],
  ['EISDIR', 'it is a directory'],
  [undefined, 'as the system says it'],
])('the error %s of a file means: %s', (code, explained) => {
  const error = Object.assign(new Error('as the system says it'), code && { code });
  expect(explainFileError(error, 'folder')).toBe(explained);
});
