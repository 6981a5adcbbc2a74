import type { CloudApi } from '../../cloud/api.ts';
import type { ClusterConfig } from '../../config/schema.ts';
import type { Reading } from '../../http/reading.ts';
import { object, string } from '../../json/shape.ts';
import { type Finding, findingOf } from './finding.ts';
import type { Recorder } from './recorder.ts';

/** Without the password, which the answer holds, too. */
const shape = object({ status: string(), health: string() });

/** GET …/migration-assistant: reachability, key, role and cluster id in one question. */
export async function checkCloud(
  api: CloudApi,
  {
    config,
    reading,
    recorder,
  }: {
    readonly config: ClusterConfig;
    readonly reading: Reading;
    readonly recorder: Recorder;
  },
): Promise<Finding> {
  const about = { check: 'GET …/migration-assistant', target: 'Cloud API' };
  try {
    const found = await api.assistant(reading, shape);
    const state = found === undefined ? 'there is none' : `${found.status}, ${found.health}`;
    return { ...about, verdict: 'ok', detail: `${recorder.describeLast('assistant')}; ${state}` };
  } catch (error) {
    return findingOf(error, { ...about, operation: 'assistant-get', config });
  }
}
