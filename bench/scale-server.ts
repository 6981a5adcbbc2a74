// The scale simulator in a process of its own.
import type { ScaleOptions } from './scale/layout.ts';
import { startScaleSimulator } from './scale/simulator.ts';
import { answerQuestions } from './process.ts';

/** Where a simulator is, and how to log in; `token` is of a session that is open already. */
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

answerQuestions({ cluster: (): ServedCluster => ({ url, username, password, token }) });
