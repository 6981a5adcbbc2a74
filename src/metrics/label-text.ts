/** Enough for every id, address and locality; a longer application name is cut. In UTF-16 code units. */
export const MAX_LABEL_LENGTH = 128;

/** Control characters (C0, DEL, C1) break terminals and line based tools; lone surrogates are no Unicode. */
const UNSAFE = /[\p{Cc}\p{Cs}]/u;
const EACH_UNSAFE = /[\p{Cc}\p{Cs}]/gu;
const TO_ESCAPE = /[\\"]/;
const EACH_TO_ESCAPE = /[\\"]/g;

/**
 * The text between the braces, `a="1",b="x\"y"`, the same in both formats. Two label sets give the same text
 * only when they are equal after cleaning, so it also serves as their key.
 */
export function labelText(
  names: readonly string[],
  labels: Readonly<Record<string, string>>,
): string {
  let text = '';
  for (const name of names) {
    text += `${text === '' ? '' : ','}${name}="${escapeLabelValue(cleanLabelValue(labels[name] ?? ''))}"`;
  }
  return text;
}

/** A value fit for a label: unsafe characters replaced one for one by U+FFFD, cut at 128 code units but never inside a pair. */
export function cleanLabelValue(value: string): string {
  const safe = UNSAFE.test(value) ? value.replaceAll(EACH_UNSAFE, '\uFFFD') : value;
  if (safe.length <= MAX_LABEL_LENGTH) {
    return safe;
  }
  const cutsPair = (safe.codePointAt(MAX_LABEL_LENGTH - 1) ?? 0) > 0xffff;
  return safe.slice(0, cutsPair ? MAX_LABEL_LENGTH - 1 : MAX_LABEL_LENGTH);
}

/** A newline would need escaping too, but no clean value has one. */
function escapeLabelValue(clean: string): string {
  return TO_ESCAPE.test(clean) ? clean.replaceAll(EACH_TO_ESCAPE, String.raw`\$&`) : clean;
}
