import type { ExpositionFormat } from './exposition.ts';

interface Choice {
  /** Lower case, without parameters. */
  readonly name: string;
  readonly parameters: ReadonlyMap<string, string>;
  /** 0 to 1; 0 means "not this". */
  readonly quality: number;
}

/** The format for an Accept header: the best of what we can write, the text format when nothing fits. */
export function negotiateFormat(accept: string | undefined): ExpositionFormat {
  let best: { format: ExpositionFormat; quality: number; specific: boolean } | undefined;
  for (const choice of parseChoices(accept)) {
    const format = formatOf(choice);
    const specific = !choice.name.includes('*');
    const isBetter =
      best === undefined ||
      choice.quality > best.quality ||
      (choice.quality === best.quality && specific && !best.specific);
    if (format !== undefined && choice.quality > 0 && isBetter) {
      best = { format, quality: choice.quality, specific };
    }
  }
  return best?.format ?? 'text';
}

/** Whether an Accept-Encoding header allows gzip. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const choices = [...parseChoices(acceptEncoding)];
  const gzip =
    choices.find((choice) => choice.name === 'gzip' || choice.name === 'x-gzip') ??
    choices.find((choice) => choice.name === '*');
  return gzip !== undefined && gzip.quality > 0;
}

function formatOf({ name, parameters }: Choice): ExpositionFormat | undefined {
  const version = parameters.get('version');
  if (name === 'application/openmetrics-text') {
    return version === undefined || version === '1.0.0' ? 'openmetrics' : undefined;
  }
  if (name === 'text/plain') {
    return version === undefined || version === '0.0.4' ? 'text' : undefined;
  }
  return name === '*/*' || name === 'text/*' ? 'text' : undefined;
}

function parseChoices(header: string | undefined): readonly Choice[] {
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
