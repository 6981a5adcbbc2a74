/** The bytes, or the text of Go's error with the offset of the first byte that is wrong. */
export function decodeBase64(text: string): Buffer | string {
  const padding = /={0,2}$/.exec(text)?.[0].length ?? 0;
  const digits = text.slice(0, text.length - padding);
  const wrong = digits.search(/[^A-Za-z0-9+/]/);
  if (wrong >= 0) return corruptAt(wrong);
  if (text.length % 4 !== 0) return corruptAt(text.length - (text.length % 4));
  return Buffer.from(text, 'base64');
}

function corruptAt(offset: number): string {
  return `illegal base64 data at input byte ${offset}`;
}
