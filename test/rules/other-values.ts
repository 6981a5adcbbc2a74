import { SETTINGS } from '../../src/alerts/rule-settings.ts';

/** The settings that are numbers. */
export const NUMBERS = Object.keys(SETTINGS).filter(
  (name) => !/regex|url/.test(SETTINGS[name]?.[0] ?? ''),
);

/** A little less than the default, so that a critical limit stays on its side of the one that warns. */
export function otherValue(name: string): number {
  const [, value] = SETTINGS[name] ?? [];
  const less = Number(value) * 0.97;
  return name === 'scan_minutes' ? Math.floor(less) : less;
}
