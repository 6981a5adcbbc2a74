import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readWebConfig } from '../../src/config/web-config.ts';
import { makeFolder } from './folder.ts';
import { FILES, HASH } from './web-files.ts';

const KNOWN = ['tls_server_config', 'http_server_config', 'basic_auth_users', 'rate_limit'];

describe('whatever stands in it', () => {
  test('reading neither crashes nor accepts an unknown key', async () => {
    const folder = await makeFolder({ ...FILES, 'web.yml': '' });
    const file = path.join(folder, 'web.yml');
    const keys = fc.oneof(
      fc.constantFrom(...KNOWN),
      fc.constantFrom('cert_file', 'headers', 'http2', 'min_version', 'interval', 'burst'),
      fc.stringMatching(/^[a-z_]{1,8}$/),
    );
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(null, true, 1, -1.5, '', 'good.crt', HASH, 'TLS12', '1s', 'x'),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(keys, value, { maxKeys: 4 }), async (document) => {
        await writeFile(file, JSON.stringify(document));
        const { problems } = await readWebConfig(file);
        const unknown = problems.filter(({ message }) => message.startsWith('unknown key'));
        const named = unknown
          .map(({ position }) => position.path)
          .filter((key) => !key.includes('.'));
        expect(named).toEqual(Object.keys(document).filter((key) => !KNOWN.includes(key)));
      }),
      { numRuns: 300 },
    );
  });

  test('no text at all makes it crash', async () => {
    const file = path.join(await makeFolder({ 'web.yml': '' }), 'web.yml');
    const part = fc.constantFrom(
      'tls_server_config',
      'basic_auth_users',
      ':',
      ' ',
      '\n',
      '- ',
      '{',
      '}',
      '[',
      ']',
      '&a',
      '*a',
      '!x',
      '|',
      '>',
      '"',
      "'",
      '\t',
      '---',
      '%',
      '#',
      '\0',
      'é',
      '? ',
      '<<',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 12 }), async (parts) => {
        await writeFile(file, parts.join(''));
        const { problems } = await readWebConfig(file);
        for (const { message } of problems) expect(message).not.toBe('');
      }),
      { numRuns: 500 },
    );
  });
});
