import { serveCalls } from './process.ts';
// The scale simulator in a separate process.
import type { ScaleOptions } from './scale/layout.ts';
import { startScaleSimulator } from './scale/simulator.ts';

/** Address and login of a simulator; `token` belongs to an open session. */
export interface ServedCluster {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  readonly token: string;
}

const options: Partial<ScaleOptions> = JSON.parse(process.argv[2] ?? '{}');
const simulator = await startScaleSimulator(options);
const { clusterUrl: url, username, password } = simulator;
const body = new URLSearchParams({ username, password });
const login = await fetch(`${url}/api/v2/login/`, { method: 'POST', body });
const { session: token }: { session: string } = JSON.parse(await login.text());

serveCalls({
  cluster: (): ServedCluster => ({ url, username, password, token }),
});
