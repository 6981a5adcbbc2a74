import { cleanText } from '#base';

/** Enough for every id, address and locality; a longer application name is cut. In UTF-16 code units. */
export const MAX_LABEL_LENGTH = 128;

const EACH_TO_ESCAPE = /[\\"]/g;
/** One look finds out that nothing of the above is needed, as with nearly every value. */
const SPECIAL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\\"]/u;

/**
 * The text between the braces, `a="1",b="x\"y"`, the same in both formats. Two label sets give the same text
 * only when they are equal after cleaning, so it also serves as their key.
 */
export function labelText(labels: Readonly<Partial<Record<string, string | number>>>): string {
  return Object.entries(labels)
    .map(([name, value = '']) => `${name}="${labelValueText(String(value))}"`)
    .join(',');
}

/** `labelText` for many label sets of the same names. */
export function labelWriter(
  names: readonly string[],
): (labels: Readonly<Record<string, string>>) => string {
  const parts = names.flatMap((name, index) => [`${index === 0 ? '' : '",'}${name}="`, '']);
  parts.push(names.length === 0 ? '' : '"');
  return (labels) => {
    for (let index = 0; index < names.length; index += 1) {
      parts[2 * index + 1] = labelValueText(labels[names[index] ?? ''] ?? '');
    }
    // Joined, not added up: V8 would keep every sum as a tree of its parts, three times as large.
    return parts.join('');
  };
}

/** A value fit for a label: unsafe characters replaced one for one by U+FFFD, cut at 128 code units but never inside a pair. */
export function cleanLabelValue(value: string): string {
  // One more than is kept shows whether something is cut; the rest of a long text is not looked at.
  const safe = cleanText(value.slice(0, MAX_LABEL_LENGTH + 1));
  if (safe.length <= MAX_LABEL_LENGTH) {
    return safe;
  }
  const cutsPair = (safe.codePointAt(MAX_LABEL_LENGTH - 1) ?? 0) > 0xffff;
  const cut = safe.slice(0, cutsPair ? MAX_LABEL_LENGTH - 1 : MAX_LABEL_LENGTH);
  // A copy: for V8 the part of a text is a view, which keeps the whole text in memory.
  return Buffer.from(cut).toString();
}

/** Cleaned and escaped. A newline would need escaping too, but no clean value has one. */
function labelValueText(value: string): string {
  return value.length <= MAX_LABEL_LENGTH && !SPECIAL.test(value)
    ? value
    : cleanLabelValue(value).replaceAll(EACH_TO_ESCAPE, String.raw`\$&`);
}

/** The shortest text that reads back as the same number. */
export function formatValue(value: number): string {
  if (value === Infinity) {
    return '+Inf';
  }
  return value === -Infinity ? '-Inf' : String(value);
}
