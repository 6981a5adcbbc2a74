import { expect, test } from 'vitest';
import { openScene } from '../../browser/scenes.ts';
import { withCollectors } from '../../support/exporter.ts';
import { readCluster } from '../read-status.ts';

test(
  'a calm cluster of 120 nodes has no finding and no range that depends on a zone',
  { timeout: 300_000 },
  async () => {
    // Ranges that move during the only scan, which takes long on a busy machine, would have to be read again.
    const calm = {
      nodes: 120,
      ranges: 2_000,
      storesPerNode: 1,
      faultyNodes: false,
      frozen: true,
    };
    await using scene = await openScene({
      clusters: { calm },
      intervalSeconds: 600,
      // Also on a busy machine.
      adapt: (config) => withCollectors(config, (each) => ({ ...each, timeout: 240 })),
    });
    const { state, findings, ranges } = await readCluster(scene);
    expect(findings).toEqual([]);
    expect(state).toBe('healthy');
    const zones = ranges?.dependent?.filter(
      ({ name, quorum }) => name.includes('zone') && quorum > 0,
    );
    expect(zones).toEqual([]);
  },
);
