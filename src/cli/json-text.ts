/** What JSON.stringify leaves as it is although terminals obey it: C1 controls, bidi and other format characters. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Most texts have nothing but these. */
const NOT_PLAIN = /[^ -~\n]/;

/** JSON that may be printed on a terminal; whoever decodes it gets the very value. */
export function writeJson(value: unknown, indent = 0): string {
  const text = JSON.stringify(value, undefined, indent);
  return NOT_PLAIN.test(text) ? text.replaceAll(UNSAFE, escapeUnits) : text;
}

/** A character beyond the first plane is two units, and a line break is there only for the reader. */
function escapeUnits(character: string): string {
  if (character === '\n') return character;
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');
}
