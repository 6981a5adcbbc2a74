import { createFindings } from './findings.ts';
import type { Findings } from './findings.ts';
import type { Kind } from './kind.ts';
import { findNearest } from './nearest.ts';
import { joinPath, quote, show } from './raw.ts';
import type { Place, Raw, RawEntry } from './raw.ts';

/** One row of the table of options. */
export interface Option<T> {
  /** Dotted key in the file; `clusters[]` stands for any member of the list. */
  readonly path: string;
  readonly kind: Kind<T>;
  readonly default?: T;
  /** Name of the flag without its dashes. */
  readonly flag?: string;
  /** A variable for what may have no flag: secrets. */
  readonly variable?: string;
  readonly help: string;
  readonly example?: unknown;
}

/** Rows of the table by a name that code may use. */
export type Rows = Readonly<Record<string, Option<unknown>>>;

/** The settings of one map of the file, its unknown keys already reported. */
export interface Section {
  readonly place: Place;
  readonly entries: ReadonlyMap<string, RawEntry>;
  readonly findings: Findings;
}

/** Opens a map; a missing one is empty. Keys that are not `known` are reported. */
export function openSection(raw: Raw, known: readonly string[], findings: Findings): Section {
  const { place } = raw;
  if (raw.form !== 'map') {
    const isEmpty = raw.form === 'scalar' && raw.value === null;
    if (isEmpty) return { place, entries: new Map(), findings };
    findings.report(place, `${show(raw)} is not a map: expected ${list(known)}`);
    // That keys are missing in it goes without saying.
    return { place, entries: new Map(), findings: createFindings() };
  }
  for (const [name, { key }] of raw.entries) {
    if (!known.includes(name)) findings.report(key, explainUnknown(name, known));
  }
  return { place, entries: raw.entries, findings };
}

function explainUnknown(name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known);
  const remedy = nearest ? `did you mean ${quote(nearest)}?` : `expected ${list(known)}`;
  return `unknown key ${quote(name)}; ${remedy}`;
}

function list(keys: readonly string[]): string {
  return keys.join(', ');
}

/** The map at a key of this one, empty when it is not there. */
export function openMember(section: Section, key: string, known: readonly string[]): Section {
  return openSection(memberOf(section, key), known, section.findings);
}

/** What is written at a key; when nothing is, an empty value at the place of the section. */
export function memberOf(section: Section, key: string): Raw {
  const entry = section.entries.get(key);
  if (entry !== undefined) return entry.value;
  const place = { ...section.place, path: joinPath(section.place.path, key) };
  return { form: 'scalar', place, value: null, isUntyped: false };
}

/** The value of an option: what is written, else its default, else undefined. */
export function read<T>(section: Section, option: Option<T> & { readonly default: T }): T;
export function read<T>(section: Section, option: Option<T>): T | undefined;
export function read<T>(section: Section, option: Option<T>): T | undefined {
  const entry = section.entries.get(keyOf(option));
  return entry === undefined ? option.default : option.kind.parse(entry.value, section.findings);
}

/** The value of an option that must be written; its absence is reported. */
export function readNeeded<T>(section: Section, option: Option<T>): T {
  if (isSet(section, option)) return read(section, option) ?? option.kind.standIn;
  const flag = option.flag === undefined ? '' : ` (or --${option.flag})`;
  section.findings.report(
    section.place,
    `the key ${quote(keyOf(option))} is missing: set it${flag}`,
  );
  return option.kind.standIn;
}

export function isSet(section: Section, option: Option<unknown>): boolean {
  return section.entries.has(keyOf(option));
}

/** Where an option is written, or the section where it is not. */
export function placeOf(section: Section, option: Option<unknown>): Place {
  return section.entries.get(keyOf(option))?.value.place ?? section.place;
}

/** The last part of an option's path. */
export function keyOf(option: Option<unknown>): string {
  return option.path.slice(option.path.lastIndexOf('.') + 1);
}
