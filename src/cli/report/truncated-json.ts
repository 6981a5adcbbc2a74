const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * The start of a document as a document: cut after the last object that is complete at most three brackets deep, with the brackets
 * that are open there closed. Example: `{"a":[{"b":1},{"b":` becomes `{"a":[{"b":1}]}`. Undefined where no such object is complete.
 */
export function completeJson(start: Buffer): string | undefined {
  const open: string[] = [];
  let isText = false;
  let cut: { readonly end: number; readonly closing: string } | undefined;
  for (let at = 0; at < start.length; at += 1) {
    const byte = start[at];
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === OPEN_BRACE) open.push('}');
    else if (byte === OPEN_BRACKET) open.push(']');
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      open.pop();
      if (open.length <= MAX_CUT_DEPTH && byte === CLOSE_BRACE) {
        cut = { end: at + 1, closing: open.toReversed().join('') };
      }
    }
  }
  return cut && start.toString('utf8', 0, cut.end) + cut.closing;
}

/** Elements of a list in the document, or in one of its members. */
const MAX_CUT_DEPTH = 3;
