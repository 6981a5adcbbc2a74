import { Option } from 'commander';
import type { SimulatorOptions } from '../simulator/index.ts';

export type Scenario = SimulatorOptions['scenario'];

/** The option that chooses what happens in the simulated cluster. */
export function scenarioOption(): Option {
  return new Option('--scenario <name>', 'what happens in the simulated cluster')
    .choices(['incident', 'calm'])
    .default('incident');
}
