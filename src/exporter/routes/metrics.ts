import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  CONTENT_TYPES,
  type ExpositionFormat,
  joinExposition,
  type RenderedFamily,
} from '#metrics';
import { readParameters, send } from './respond.ts';

/** Returns the collectors that `collect[]` and `exclude[]` choose; undefined when they name an unknown one. */
export function chooseCollectors(
  request: IncomingMessage,
  known: readonly string[],
  byDefault = known,
): ReadonlySet<string> | undefined {
  const parameters = readParameters(request);
  const wanted = parameters.getAll('collect[]');
  const unwanted = parameters.getAll('exclude[]');
  if ([...wanted, ...unwanted].some((name) => !known.includes(name))) return undefined;
  return new Set(wanted.length === 0 ? byDefault : wanted).difference(new Set(unwanted));
}

/** Joins ready buffers: format by Accept, gzip by Accept-Encoding; `name[]` leaves only the named families. */
export function sendExposition(
  families: readonly RenderedFamily[],
  response: ServerResponse,
): void {
  const { headers } = response.req;
  const named = readParameters(response.req).getAll('name[]');
  const names = named.length === 0 ? undefined : new Set(named);
  const format = negotiateFormat(headers.accept);
  const gzip = acceptsGzip(headers['accept-encoding']);
  const chunks = joinExposition({ families, format, gzip, names });
  send(response, chunks, {
    'content-type': CONTENT_TYPES[format],
    vary: 'Accept, Accept-Encoding',
    ...(gzip && { 'content-encoding': 'gzip' }),
  });
}

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
function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const choices = parseChoices(acceptEncoding);
  const gzip =
    choices.find((choice) => choice.name === 'gzip' || choice.name === 'x-gzip') ??
    choices.find((choice) => choice.name === '*');
  return gzip !== undefined && gzip.quality > 0;
}

/** One choice of an Accept header: `text/plain;version=0.0.4;q=0.5`. */
interface Choice {
  /** The name in lower case, without parameters. */
  readonly name: string;
  readonly version: string | undefined;
  /** A quality of 0 means "not this". */
  readonly quality: number;
}

function formatOf({ name, version }: Choice): ExpositionFormat | undefined {
  if (name === 'application/openmetrics-text') {
    return version === undefined || version === '1.0.0' ? 'openmetrics' : undefined;
  }
  if (name === 'text/plain') {
    return version === undefined || version === '0.0.4' ? 'text' : undefined;
  }
  return name === '*/*' || name === 'text/*' ? 'text' : undefined;
}

function parseChoices(header = ''): readonly Choice[] {
  return header.split(',').map((text) => {
    const [name = '', ...parameters] = text.toLowerCase().replaceAll(/[\s"]/g, '').split(';');
    const read = (key: string): string | undefined =>
      parameters.find((parameter) => parameter.startsWith(`${key}=`))?.slice(key.length + 1);
    const quality = Number(read('q') ?? 1);
    return { name, version: read('version'), quality: quality <= 1 ? quality : 0 };
  });
}
