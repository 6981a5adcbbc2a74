import type { ExpositionFormat } from './exposition.ts';

/** The format for an Accept header: the best of what we can write, the text format when nothing fits. */
export function negotiateFormat(accept: string | undefined): ExpositionFormat {
  const possible = parseChoices(accept).flatMap((choice) => {
    const { name, quality } = choice;
    const format = formatOf(choice);
    return format && quality > 0 ? [{ format, quality, isRange: name.includes('*') }] : [];
  });
  const [best] = possible.toSorted(
    (a, b) => b.quality - a.quality || Number(a.isRange) - Number(b.isRange),
  );
  return best?.format ?? 'text';
}

/** Whether an Accept-Encoding header allows gzip. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const choices = parseChoices(acceptEncoding);
  const gzip =
    choices.find((choice) => choice.name === 'gzip' || choice.name === 'x-gzip') ??
    choices.find((choice) => choice.name === '*');
  return gzip !== undefined && gzip.quality > 0;
}

function formatOf({
  name,
  parameters,
}: ReturnType<typeof parseChoices>[number]): ExpositionFormat | undefined {
  const version = parameters.get('version');
  if (name === 'application/openmetrics-text') {
    return version === undefined || version === '1.0.0' ? 'openmetrics' : undefined;
  }
  if (name === 'text/plain') {
    return version === undefined || version === '0.0.4' ? 'text' : undefined;
  }
  return name === '*/*' || name === 'text/*' ? 'text' : undefined;
}

/** Names in lower case, without parameters; a quality of 0 means "not this". */
function parseChoices(header: string | undefined) {
  return (header ?? '').split(',').map((text) => {
    const [name = '', ...rest] = text.split(';').map((part) => part.trim());
    const parameters = new Map(rest.map(parseParameter));
    const quality = Number(parameters.get('q') ?? 1);
    return { name: name.toLowerCase(), parameters, quality: quality <= 1 ? quality : 0 };
  });
}

function parseParameter(text: string): [string, string] {
  const [key = '', value = ''] = text.split('=', 2);
  return [key.trim().toLowerCase(), value.trim().replaceAll('"', '')];
}
