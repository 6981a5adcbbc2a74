import { readSamples, type Sample } from '../../metrics/samples.ts';
import type { RenderedFamily } from '../../metrics/snapshot.ts';
import { renderFamilies } from '../../metrics/snapshot.ts';
import type { ClusterSource } from './source.ts';

type Labels = Readonly<Record<string, string>>;

/** What a scrape would say of one cluster now, to be asked by the name of a family. */
export class Figures {
  readonly #rendered: ReadonlyMap<string, RenderedFamily>;
  readonly #read = new Map<string, readonly Sample[]>();

  readonly #readSamples: typeof readSamples;

  constructor(cluster: ClusterSource, read = readSamples) {
    this.#readSamples = read;
    const families = [
      ...cluster.snapshots(() => true).flatMap((snapshot) => [...snapshot.families.values()]),
      ...renderFamilies(cluster.outcomes(() => true)),
    ];
    this.#rendered = new Map(families.map((one) => [one.family.name, one]));
  }

  /** Every sample of a family; none when there is no present data of it. */
  all(family: string): readonly Sample[] {
    const known = this.#read.get(family);
    if (known !== undefined) return known;
    const rendered = this.#rendered.get(family);
    const samples = rendered === undefined ? [] : this.#readSamples(rendered);
    this.#read.set(family, samples);
    return samples;
  }

  /** The value of the first sample with these labels. */
  value(family: string, labels: Labels = {}): number | undefined {
    return this.all(family).find((sample) => hasLabels(sample, labels))?.value;
  }

  /** The sum over the samples with these labels; undefined when there is none. */
  sum(family: string, labels: Labels = {}): number | undefined {
    const values = this.all(family).filter((sample) => hasLabels(sample, labels));
    return values.length === 0 ? undefined : values.reduce((sum, { value }) => sum + value, 0);
  }

  /** Values by one label, summed where several samples have the same. */
  by(label: string, family: string): ReadonlyMap<string, number> {
    const sums = new Map<string, number>();
    for (const { labels, value } of this.all(family)) {
      const key = labels[label] ?? '';
      sums.set(key, (sums.get(key) ?? 0) + value);
    }
    return sums;
  }

  /** The state whose series is 1; undefined when none is. */
  state(family: string, label: string): string | undefined {
    return this.all(family).find(({ value }) => value === 1)?.labels[label];
  }
}

function hasLabels(sample: Sample, labels: Labels): boolean {
  return Object.entries(labels).every(([name, value]) => sample.labels[name] === value);
}
