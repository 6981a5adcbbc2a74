import { findAbsence } from '../data-checks.ts';
import { type Expected, keyOf, nameOf } from '../oracle/expected.ts';
import { CLUSTER_FAMILIES } from '../oracle/ranges.ts';
import type { Scraper } from '../scraper.ts';
import type { Setting } from '../setting.ts';
import { REQUEST_SECONDS } from '../variants.ts';
import type { SingleFault } from './fault.ts';
import { expectPromptRecovery, findSpread, judgeWindow, type Window } from './window.ts';

type SilentNodes = Extract<SingleFault, { kind: 'silent-nodes' }>;

/** What a scan that is a failure still shows. */
const SCAN_FAMILIES = ['crdb_range_scan_nodes', 'crdb_range_scan_node_success'];

/** The nodes that speak are read, only what needs the silent ones fails, and all succeed soon after. */
export async function keepSilence(
  setting: Setting,
  scraper: Scraper,
  { share, silentOn }: SilentNodes,
): Promise<number> {
  const { simulator, chronicle, clocks } = setting;
  const askable = askableNodes(setting);
  const count = Math.min(askable.length - 1, 1 + Math.floor(share * (askable.length - 1)));
  // A world may have no other node that answers.
  if (count < 1) return 0;
  const silent = askable.slice(-count);
  chronicle.change(() => silent.forEach((id) => simulator.world.freezeNode(id, silentOn)));
  const isFailedScan = 2 * (askable.length - count) < askable.length;
  const victims = [
    ...(isFailedScan ? ['ranges'] : []),
    ...(silentOn === 'ranges' ? [] : ['sessions']),
  ];
  await judgeWindow(
    setting,
    scraper,
    (window) =>
      findSpread(setting, window, victims) ??
      findScanFault(setting, window, { silent, isFailedScan }),
  );
  chronicle.change(() => silent.forEach((id) => simulator.world.reviveNode(id)));
  // Each was waited for twice, and is left alone for as long again (the largest duty of a trial is 1).
  const leftAloneMs = 2 * REQUEST_SECONDS * 1000 * setting.dimensions.slowness;
  await expectPromptRecovery(setting, clocks.clock.monotonicMs(), isFailedScan ? leftAloneMs : 0);
  return 0;
}

function askableNodes({ simulator }: Setting): readonly number[] {
  const { nodes } = simulator.truth();
  return nodes.filter(({ scannable }) => scannable).map(({ nodeId }) => nodeId);
}

interface Scan {
  readonly silent: readonly number[];
  readonly isFailedScan: boolean;
}

/** What the last scan does not show as it is. */
function findScanFault(
  setting: Setting,
  { after }: Window,
  { silent, isFailedScan }: Scan,
): string | undefined {
  const ids = askableNodes(setting);
  const scan: Expected = new Map();
  const states = { scanned: ids.length, failed: silent.length };
  for (const [state, count] of Object.entries(states)) {
    scan.set(keyOf('crdb_range_scan_nodes', { state, shard: '0' }), count);
  }
  for (const [each, isRead] of [...ids.map((id) => [id, 1]), ...silent.map((id) => [id, 0])]) {
    scan.set(keyOf('crdb_range_scan_node_success', { node_id: String(each) }), isRead ?? 0);
  }
  const wrong = findAbsence(after.samples, scan);
  if (wrong !== undefined) return wrong;
  const expected = setting.chronicle.present['ranges'] ?? new Map();
  if (!isFailedScan) {
    // Figures of the whole cluster are lower bounds now, or absent.
    const ofNodes = [...expected].filter(([key]) => !CLUSTER_FAMILIES.has(nameOf(key)));
    return findAbsence(after.samples, new Map(ofNodes));
  }
  const names = new Set([...expected.keys()].map(nameOf));
  const shown = after.samples.find(({ name }) => names.has(name) && !SCAN_FAMILIES.includes(name));
  return shown && `${shown.name} is shown although most nodes were not read`;
}
