/** Characters of a value or a name. */
const VALUE = 10;
/** Members of a list whose query does not limit them. */
const MEMBERS = 3;

/** How long a text of an alert is where each part is as long as it can be: names and values have 10 characters. */
export function longestText(template: string): number {
  const parts = template.split(/\{\{(.*?)\}\}/s).map((text, index) => ({
    text: index % 2 === 1 ? text.trim() : text,
    isAction: index % 2 === 1,
  }));
  let at = 0;

  /** Up to the `else` or `end` of the block. */
  function block(): number {
    let length = 0;
    for (;;) {
      const part = parts[at];
      if (part === undefined || (part.isAction && /^(?:else|end)$/.test(part.text))) return length;
      at += 1;
      if (!part.isAction) length += part.text.length;
      else if (/^(?:if|with|range) /.test(part.text)) length += branches(part.text);
      else length += VALUE;
    }
  }

  /** The longer branch; that of a list, which counts its members, as often as it has them. */
  function branches(action: string): number {
    const members = Number(/topk\((\d)/.exec(action)?.[1] ?? MEMBERS);
    const body = block() * (action.startsWith('range $i') ? members : 1);
    let other = 0;
    if (parts[at]?.text === 'else') {
      at += 1;
      other = block();
    }
    at += 1;
    return Math.max(body, other);
  }

  return block();
}
