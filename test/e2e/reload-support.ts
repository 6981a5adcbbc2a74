import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { loadConfig } from '../../src/config/load.ts';
import { startTestExporter, type TestExporter } from '../support/exporter.ts';

export interface Reloadable extends AsyncDisposable {
  readonly exporter: TestExporter;
  /** Writes the file and triggers a reload over HTTP. */
  reload(yaml: string): Promise<{ readonly status: number; readonly text: string }>;
  /** Writes the web config file, which is read again only at a reload. */
  writeWebConfig(text: string): Promise<void>;
}

export function simulate(): Promise<Simulator> {
  return startSimulator({ nodes: 3, ranges: 30, metricKeys: 'useful' });
}

/** An exporter with a configuration file that can be replaced. */
export async function watch(yaml: string): Promise<Reloadable> {
  const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-'));
  const file = path.join(folder, 'exporter.yml');
  const webConfig = path.join(folder, 'web.yml');
  await writeFile(webConfig, '');
  const exporter = await startTestExporter({
    yaml,
    adapt: (config) => ({
      ...config,
      web: { ...config.web, enable_lifecycle: true, config_file: webConfig },
    }),
    app: {
      fileCheckMs: 3_600_000,
      load: () =>
        loadConfig({
          flags: {
            'config.file': file,
            'web.config.file': webConfig,
            'web.enable-lifecycle': true,
            'web.listen-address': ['127.0.0.1:0'],
          },
          env: {},
          collectors: COLLECTORS,
          checkedFiles: 'clusters',
        }),
    },
  });
  return {
    exporter,
    async reload(changed) {
      await writeFile(file, changed);
      const answer = await fetch(`${exporter.url}/-/reload`, { method: 'POST' });
      return { status: answer.status, text: await answer.text() };
    },
    writeWebConfig: (text) => writeFile(webConfig, text),
    async [Symbol.asyncDispose]() {
      await exporter.stop();
      await rm(folder, { recursive: true });
    },
  };
}
