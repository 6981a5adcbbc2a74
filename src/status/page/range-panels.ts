import {
  capitalize,
  formatBytes,
  formatCount,
  formatList,
  formatNodes,
  formatNumber,
  formatPercent,
  formatRanges,
  formatTable,
  formatTables,
  plural,
  SEVERITIES,
} from '#base';
import { reportUrl } from '../findings/problem.ts';
import {
  isSystemRange,
  nameRange,
  OUTAGES,
  PROBLEM_ISSUES,
  STUCK,
  systemRangeName,
} from '../findings/range-problems.ts';
import { describeDoubt, OVERLAP } from '../findings/range-status.ts';
import { formatHeld } from '../findings/safe-to-stop.ts';
import { formatScanCheck } from '../findings/scan-check.ts';
import type {
  Finding,
  HotRangeStatus,
  LastKnownStatus,
  ProblemRangeStatus,
  RangesStatus,
  SafeToStopStatus,
  VerificationStatus,
} from '../findings/status.ts';
import {
  bar,
  type Html,
  html,
  icon,
  known,
  MAX_ROWS,
  type Part,
  relativeTime,
  table,
  withCode,
} from './html.ts';

function readFrom({ scanned, failed, skipped }: RangesStatus['nodes'], isShare = false): string {
  const others = skipped > 0 ? `; ${skipped} not known to be up, and not asked` : '';
  const all = scanned + failed + skipped;
  const nodes = isShare ? `the ${all} nodes that this exporter scans` : `${all} nodes`;
  return `Read from ${scanned} of ${nodes}${others}.`;
}

/** Whether all nodes were read that this exporter scans, and they are not all nodes that are up. */
function isOfShare({ nodes, verification }: RangesStatus): boolean {
  return nodes.failed === 0 && verification === undefined;
}

/** Instead of what a scan shows that read so few nodes that nothing is summed up. */
const NOT_READ = html`<p>
  ${icon('unknown')} Not known: most of the nodes that were up could not be read.
</p>`;

/** What follows from it that not all nodes that are up were read. */
function describePart(ranges: RangesStatus, effect: string): Html | false {
  const isShare = isOfShare(ranges);
  if (!isShare && ranges.nodes.failed === 0) return false;
  return html`<p class="old">${icon('warning')} ${readFrom(ranges.nodes, isShare)} ${effect}</p>`;
}

/** Range problems by number, and the ranges with the oldest of the worst ones. */
export function problemRanges(
  ranges: RangesStatus,
  findings: readonly Finding[],
  nowMs: number,
  { commandFor, consoleUrl, isPartial }: RangeDetails,
): Html {
  const { problems, oldest, nodes, downSinceScan, scanCheck, withoutQuorum } = ranges;
  const check =
    scanCheck === undefined ? 'Not compared with counts of the nodes' : formatScanCheck(scanCheck);
  const read = html`<p class="quiet">${readFrom(nodes, isOfShare(ranges))} ${check}.</p>
    ${
      downSinceScan.length > 0 &&
      html`<p class="old">
        ${icon('warning')} Read before ${formatNodes(downSinceScan)} went down: the next scan shows
        the effect.
      </p>`
    }`;
  const doubt = describeDoubt(ranges);
  if (isPartial) return html`${NOT_READ} ${read}`;
  if (countsOf(problems).length === 0 && withoutQuorum.unreportedRanges === 0)
    return html`${noProblem(doubt)} ${read}`;
  const found = (key: string) => findings.find((finding) => finding.key === key)?.level;
  /** The level of the finding about this problem; stuck replicas have the level of the ranges that serve nothing, if there are some. */
  const levelOf = (problem: string) =>
    (STUCK.includes(problem) ? found('ranges serving nothing') : undefined) ??
    found(`ranges ${problem}`) ??
    (problem === 'unavailable' ? found('ranges disputed') : undefined) ??
    'warning';
  /** An outage is worse than many replicas that are missing, which are critical, too. */
  const rankOf = (problem: string) =>
    2 * SEVERITIES.indexOf(levelOf(problem)) + Number(!OUTAGES.includes(problem));
  const rows = sortRows(oldest, rankOf);
  // No live node knows more of a lost range.
  const reported = rows.find((range) => !isLost(range));
  return html`${countList(ranges, levelOf)}
  ${damagedTables(withoutQuorum, oldest, doubt !== undefined)}${table(
    'Oldest problem ranges',
    rows.slice(0, MAX_ROWS),
    [
      ['Range', ({ rangeId }) => rangeName(rangeId, consoleUrl)],
      ['Problem', ({ problem }) => formatProblem(problem)],
      ['Table', tableAndIndex, 'place'],
      ['Reported by', reporterOf],
      ['For', ({ firstSeenAt }) => relativeTime(firstSeenAt, nowMs), 'number'],
    ],
  )}
  ${rangeCommand(reported, commandFor)}${doubt && html`<p>${doubt}</p> `}${read}`;
}

/** Instead of a list; a scan that may not have listed all problems proves nothing. */
function noProblem(doubt: string | undefined): Html {
  return doubt === undefined
    ? html`<p>The last scan found no problem.</p>`
    : html`<p>${icon('unknown')} No replica that was read reports a problem. ${doubt}</p>`;
}

/** The numbers of ranges by problem, with the level of each. */
function countList(
  { problems, disputed, withoutQuorum: { unreportedRanges: unreported } }: RangesStatus,
  levelOf: (problem: string) => string,
): Html {
  const claims =
    disputed && ` (${formatCount(disputed.ranges)} by ${formatNodes(disputed.nodeIds)} alone)`;
  return html`<ul class="counts">
    ${
      unreported > 0 &&
      html`<li class="critical">
        <b>${formatCount(unreported)}</b> without quorum, reported by no node
      </li>`
    }
    ${countsOf(problems).map(
      ([problem, count]) =>
        html`<li class="${levelOf(problem)}">
          <b>${formatCount(count)}</b>
          ${formatProblem(problem)}${problem === 'unavailable' && claims}
        </li>`,
    )}
  </ul>`;
}

/** All that is known of a lost range is which nodes held it. */
function isLost({ problem }: ProblemRangeStatus): boolean {
  return problem === 'no_live_replica';
}

/** Lost ranges come before those without a quorum, and so on. */
const WORST_FIRST = Object.keys(PROBLEM_ISSUES);

/** Each problem with the number of its ranges, the worst first. */
function countsOf(problems: RangesStatus['problems']): readonly (readonly [string, number])[] {
  return Object.entries(problems).toSorted(
    ([a], [b]) => WORST_FIRST.indexOf(a) - WORST_FIRST.indexOf(b),
  );
}

/** The worst problems first, and of these the system ranges, without which nothing works, and the lost ones. */
function sortRows(
  ranges: readonly ProblemRangeStatus[],
  rankOf: (problem: string) => number,
): readonly ProblemRangeStatus[] {
  return ranges.toSorted(
    (a, b) =>
      rankOf(a.problem) - rankOf(b.problem) ||
      Number(isSystemRange(b)) - Number(isSystemRange(a)) ||
      Number(isLost(b)) - Number(isLost(a)),
  );
}

/** Range problems as they were when the API was last seen, the worst first, without advice, levels and links. */
export function lastKnownRanges(
  { problems, disputed, oldest, nodes, doubt }: NonNullable<LastKnownStatus['ranges']>,
  nowMs: number,
): Html {
  const read = html`<p class="quiet">${readFrom(nodes)}</p>`;
  const counts = countsOf(problems);
  if (counts.length === 0 && disputed === undefined) return html`${noProblem(doubt)} ${read}`;
  const rows = sortRows(oldest, (problem) => WORST_FIRST.indexOf(problem));
  const found = counts.map(([problem, count]) => `${formatCount(count)} ${formatProblem(problem)}`);
  const claims =
    disputed === undefined
      ? []
      : [`${formatCount(disputed.ranges)} unavailable by ${formatNodes(disputed.nodeIds)} alone`];
  return html`<p>${formatList([...found, ...claims])}${doubt && `. ${doubt}`}</p>
    ${table('Problem ranges when they were last read', rows.slice(0, MAX_ROWS), [
      ['Range', ({ rangeId }) => `r${rangeId}`],
      ['Problem', ({ problem }) => formatProblem(problem)],
      ['Table', tableAndIndex, 'place'],
      ['Reported by', reporterOf],
      ['First seen', ({ firstSeenAt }) => html`${relativeTime(firstSeenAt, nowMs)} ago`, 'number'],
    ])}${read}`;
}

/** `n3 s7`; of a lost range, which nobody reports, `was on 4, 5 and 6`. */
function reporterOf({ nodeId, storeId, lastNodes = [], isDisputed }: ProblemRangeStatus): string {
  if (lastNodes.length > 0) return `was on ${formatNodes(lastNodes)}`;
  const reporter = `n${nodeId}${storeId === undefined ? ', store not known' : ` s${storeId}`}`;
  return isDisputed ? `${reporter}, not by the holder of the lease` : reporter;
}

/** The tables whose users wait, after the system ranges that are listed; without some nodes there may be more. */
function damagedTables(
  { tables, otherRanges, unnamedRanges }: RangesStatus['withoutQuorum'],
  oldest: readonly ProblemRangeStatus[],
  isPartial: boolean,
): Html | false {
  const system = oldest.filter(
    (range) =>
      OUTAGES.includes(range.problem) && !range.isDisputed && systemRangeName(range) !== undefined,
  );
  const listed = tables.map(({ id, name, ranges }) => {
    return `${name ?? formatTable(id)} (${formatRanges(ranges)})`;
  });
  const outside = otherRanges - system.length;
  const others = outside > 0 ? [`${formatRanges(outside)} outside of tables`] : [];
  const unnamed =
    unnamedRanges > 0 ? [`${formatRanges(unnamedRanges)} whose table is not known`] : [];
  const all = [...system.map(nameRange), ...listed, ...others, ...unnamed];
  return (
    all.length > 0 &&
    html`<p class="place">
      ${icon('critical')} Without quorum${isPartial && ', at least'}: ${formatList(all)}.
    </p>`
  );
}

/** `movr.public.rides, index 1`. */
function tableAndIndex(range: ProblemRangeStatus | HotRangeStatus): string {
  const text = formatTables(range, 'id') || (systemRangeName(range) ?? 'outside of known tables');
  return range.index === '' ? text : `${text}, index ${range.index}`;
}

/** Which nodes may be restarted now, and what would be lost with the others and with a locality. */
export function safeToStop(
  { answer, nodes, reason }: SafeToStopStatus,
  { dependent = [], verification }: RangesStatus,
): Html {
  const decision =
    answer === 'yes'
      ? html`<p>
          One of these nodes may stop now without a range losing its quorum:
          <b>${formatList(nodes)}</b>.
        </p>`
      : html`<p>
          ${icon('warning')} ${answer === 'no' ? 'No node may stop now' : 'Not known'}: ${reason}.
        </p>`;
  const proof = verification && proofOf(verification);
  if (dependent.length === 0) return html`${decision}${proof}`;
  const rows = table('Dependent ranges', dependent.slice(0, MAX_ROWS), [
    ['If it stopped', ({ name }) => name, 'name'],
    ['Lose quorum', ({ quorum }) => formatCount(quorum), 'number'],
    ['Lose last replica', ({ lastReplica }) => formatCount(lastReplica), 'number'],
    [
      'No quorum now',
      ({ withoutQuorum: count }) => (count === undefined ? 'not counted' : formatCount(count)),
      'number',
    ],
  ]);
  // Of "no" the reason is enough, the table is for those who ask.
  const shown =
    answer === 'no'
      ? html`<details>
          <summary>Ranges that depend on single nodes and localities</summary>
          ${rows}
        </details>`
      : rows;
  return html`${decision}${shown}${proof}`;
}

const KEY_SPACE = {
  complete: 'The ranges cover all keys: none is missing.',
  overlap: OVERLAP,
  incomplete: 'The keys of the ranges do not join: some may be missing.',
  gap: 'Three scans in a row ended with the same gap in the keys: ranges are missing.',
} as const;

/** How far the scan proves what the panel says. */
function proofOf(verification: VerificationStatus): Html {
  const { unverified, reason, keySpace, stuck, servingNothingAtLeast, leftOver } = verification;
  const { perMinute = 0, servingNothing = 0, lost = 0 } = verification;
  const rate =
    perMinute > 0 && ` Descriptors are read at ${formatCount(Math.round(perMinute))} a minute.`;
  const verified =
    reason === undefined ? 'The replicas of all ranges are verified.' : `${capitalize(reason)}.`;
  // Where lost ranges are known, all of them are.
  const keys =
    lost > 0
      ? `The keys of the ranges do not join: ${formatRanges(lost)} ${plural(lost, 'is', 'are')} lost.`
      : KEY_SPACE[keySpace];
  const bounds = unverified > 0 && reason !== undefined && ' The figures are lower bounds.';
  const least = servingNothingAtLeast ? 'At least ' : '';
  // The findings count those without a quorum apart.
  const apart = servingNothing > stuck ? ', with those without a quorum' : '';
  const idle =
    servingNothing > 0 && `${least}${formatRanges(servingNothing)} serving nothing${apart}.`;
  const left =
    leftOver.length > 0 && ` Left over from merges, and not judged: ${formatHeld(leftOver)}.`;
  return html`<p class="quiet">${verified}${rate}${bounds} ${keys} ${idle}${left}</p>`;
}

function formatProblem(problem: string): string {
  return problem.replaceAll('_', ' ');
}

/** The ranges with most queries and with most CPU. */
export function hotRanges(
  ranges: RangesStatus,
  { commandFor, consoleUrl, isPartial }: RangeDetails,
): Html {
  if (isPartial) return NOT_READ;
  const { hottest } = ranges;
  const [first] = hottest;
  const colder = describePart(ranges, 'Others may be hotter.');
  if (first === undefined)
    return html`<p>No range is listed.</p>
      ${colder}`;
  const max = Math.max(1, ...hottest.map(({ queriesPerSecond }) => queriesPerSecond));
  // Few queries may use most CPU.
  const maxCpu = Math.max(1e-3, ...hottest.map((range) => range.cpuSecondsPerSecond ?? 0));
  const hasCpu = hottest.some(({ cpuSecondsPerSecond }) => cpuSecondsPerSecond !== undefined);
  return html`${table('Hottest ranges', hottest.slice(0, MAX_ROWS), [
    ['Range', ({ rangeId }) => rangeName(rangeId, consoleUrl)],
    ['Table', tableAndIndex, 'place'],
    ['Node', ({ nodeId }) => `n${nodeId}`],
    [
      'Load',
      ({ queriesPerSecond, cpuSecondsPerSecond = 0 }) =>
        bar(Math.max(queriesPerSecond / max, cpuSecondsPerSecond / maxCpu)),
      'bars',
    ],
    ['Queries/s', ({ queriesPerSecond }) => formatNumber(queriesPerSecond), 'number'],
    ['Writes/s', ({ writesPerSecond }) => known(writesPerSecond, formatNumber), 'number'],
    hasCpu && ['CPU', (range) => known(range.cpuSecondsPerSecond, formatPercent), 'number'],
  ])}${colder}${rangeCommand(first, commandFor)}`;
}

/** How a panel shows ranges, whose details are shown by a command and by the DB Console. */
interface RangeDetails {
  /** The scan read so few nodes that nothing is summed up. */
  readonly isPartial?: boolean | undefined;
  /** The whole command line of a command such as `range 7`. */
  readonly commandFor: (words: string) => string;
  readonly consoleUrl?: string | undefined;
}

function rangeName(rangeId: number, consoleUrl: string | undefined): Part {
  const name = `r${rangeId}`;
  return consoleUrl === undefined
    ? name
    : html`<a href="${reportUrl(consoleUrl, rangeId)}">${name}</a>`;
}

/** The command that shows all that is known of a range. */
function rangeCommand(
  range: ProblemRangeStatus | HotRangeStatus | undefined,
  commandFor: RangeDetails['commandFor'],
) {
  if (range === undefined) return undefined;
  return html`<p class="quiet">
    Details of r${range.rangeId}: ${withCode(`\`${commandFor(`range ${range.rangeId}`)}\``)}
  </p>`;
}

/** The tables with most load. */
export function loadedTables(scan: RangesStatus, { isPartial }: RangeDetails): Html {
  if (isPartial) return NOT_READ;
  const { tables } = scan;
  const bounds = describePart(scan, 'The figures are lower bounds.');
  if (tables.length === 0)
    return html`<p>No table is listed.</p>
      ${bounds}`;
  const hasCpu = tables.some(({ cpuSecondsPerSecond }) => cpuSecondsPerSecond !== undefined);
  const hasSize = tables.some(({ sizeBytes }) => sizeBytes !== undefined);
  return html`${table('Tables with most load', tables.slice(0, MAX_ROWS), [
    ['Table', ({ id, name }) => name ?? formatTable(id, 'id'), 'name'],
    ['Queries/s', ({ queriesPerSecond }) => formatNumber(queriesPerSecond), 'number'],
    ['Writes/s', ({ writesPerSecond }) => formatNumber(writesPerSecond), 'number'],
    hasCpu && ['CPU', (one) => known(one.cpuSecondsPerSecond, formatPercent), 'number'],
    ['Ranges', ({ ranges }) => formatCount(ranges), 'number'],
    hasSize && ['Size', ({ sizeBytes }) => known(sizeBytes, formatBytes), 'number'],
  ])}${bounds}`;
}
