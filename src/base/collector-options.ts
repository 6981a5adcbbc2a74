// The options of a collector as data. The collector declares them; the configuration reads, checks and documents them.

/** The first rewrite whose expression matches a name replaces it. */
export interface Rewrite {
  readonly regex: string;
  readonly replacement: string;
}

/** A SELECT of the user, whose rows become samples. */
export interface Query {
  readonly name: string;
  /** HELP of its metrics. */
  readonly help: string;
  readonly sql: string;
  /** The database in which names without one are looked up. */
  readonly database: string;
  /** Columns that become labels. */
  readonly labels: readonly string[];
  /** Columns that become values, with the type of their metrics. */
  readonly values: Readonly<Record<string, 'gauge' | 'counter'>>;
  /** Seconds between the starts of two runs; undefined for every poll. */
  readonly interval?: number | undefined;
  /** Seconds. */
  readonly timeout: number;
  /** A result with more rows is not published. */
  readonly max_rows: number;
}

/** The metric of a column of a query; a counter ends in `_total` after it. */
export function queryMetric({ name }: Pick<Query, 'name'>, column: string): string {
  return `crdb_sql_${name}_${column}`;
}

export type OptionSpec = { readonly help: string } & (
  | {
      readonly kind: 'integer';
      readonly default: number;
      readonly min?: number;
      readonly max?: number;
    }
  | {
      readonly kind: 'duration';
      /** Seconds. */
      readonly default: number;
      /** Seconds. */
      readonly min: number;
    }
  | { readonly kind: 'boolean'; readonly default: boolean }
  /** true, false, or auto: what the server makes possible. */
  | { readonly kind: 'auto'; readonly default: 'auto' }
  | {
      readonly kind: 'enum';
      readonly default: string;
      readonly values: readonly [string, ...string[]];
    }
  | {
      readonly kind: 'strings';
      readonly default: readonly string[];
      readonly pattern: RegExp;
      /** The accepted texts in words, with an example. */
      readonly expects: string;
    }
  | {
      readonly kind: 'rewrites';
      readonly default: readonly Rewrite[];
      /** Resolves to the fault of a regular expression, or undefined. The engine is the collector's choice. */
      readonly check: (regex: string) => Promise<string | undefined>;
    }
  | { readonly kind: 'queries'; readonly default: readonly Query[] }
);

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** The values that the configuration gives for the specs. */
export type OptionValues<S extends OptionSpecs> = {
  readonly [K in keyof S]: S[K] extends { readonly values: readonly (infer V)[] }
    ? V
    : {
        readonly integer: number;
        /** Seconds. */
        readonly duration: number;
        readonly boolean: boolean;
        readonly auto: boolean | 'auto';
        readonly enum: string;
        readonly strings: readonly string[];
        readonly rewrites: readonly Rewrite[];
        readonly queries: readonly Query[];
      }[S[K]['kind']];
};
