/** Markup that is safe to send: all that came from outside has been escaped on its way in. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | undefined | false | readonly Part[];

/**
 * Markup around values; every value that is not markup itself is escaped, undefined and false are nothing.
 * The indentation of the source is not sent.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const texts = strings.map((text) => text.replaceAll(/\n\s*/g, '\n'));
  return new Html(
    texts.map((text, index) => (index === 0 ? text : render(parts[index - 1]) + text)).join(''),
  );
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === undefined || part === false) return '';
  if (typeof part === 'object') return part.map(render).join('');
  return String(part).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
