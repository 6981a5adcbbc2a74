import { decodeValue, type Infer, type ObjectShape, PageParser, type RecordBatch } from '#json';
import type { ApiLogin, ApiRequest } from './api-login.ts';
import { RequestError } from './http/errors.ts';
import { type CountDecodeErrors, type PollStats, recordDecodeErrors } from './http/poll-stats.ts';
import type { HttpResponse } from './http/request.ts';
import { ELEMENT_LIMITS } from './listings.ts';
import { MessageList, type MessageListOptions } from './protobuf/index.ts';

/** A request for one page of a listing. */
export interface PageRequest<S extends ObjectShape, E extends ObjectShape> extends Omit<
  ApiRequest<unknown>,
  'stats' | 'onChunks' | 'onEnd' | 'acceptsProtobuf'
> {
  /** Member of the response that holds the elements. */
  readonly list: string;
  /** The elements are the values of a map. */
  readonly isMap?: boolean;
  readonly element: S;
  readonly envelope: E;
  /** Called with the key in a map. */
  readonly onElement?: ((element: Infer<S>, key: string) => void) | undefined;
  /** In its place, for many elements without arrays and maps. */
  readonly onBatch?: ((batch: RecordBatch) => void) | undefined;
  /** How the page is read where the server sends it as protobuf; without it JSON is asked for. */
  readonly messages?: Omit<MessageListOptions, 'maxElementBytes'> | undefined;
}

/** How pages are read. */
export interface PageSource {
  readonly login: Pick<ApiLogin, 'send'>;
  readonly decodeErrors: CountDecodeErrors;
  /** Whether to ask for protobuf where it can be read. */
  readonly protobuf: boolean;
}

/** Reads one page of a listing, decoded while it arrives. */
export function readPage<S extends ObjectShape, E extends ObjectShape>(
  { login, decodeErrors, protobuf: asksForProtobuf }: PageSource,
  stats: PollStats,
  pageRequest: PageRequest<S, E>,
) {
  const {
    list,
    isMap = false,
    element,
    envelope,
    onElement,
    onBatch,
    messages: readable,
    ...request
  } = pageRequest;
  const messages = asksForProtobuf ? readable : undefined;
  const form = { list, isMap, element, envelope, onElement, onBatch };
  const json = new PageParser({ ...form, ...ELEMENT_LIMITS });
  let protobuf: MessageList | undefined;
  const { endpoint } = request;
  return login.send({
    ...request,
    acceptsProtobuf: messages !== undefined,
    stats,
    onHeaders(response: HttpResponse) {
      request.onHeaders?.(response);
      const isProtobuf = messages !== undefined && response.isProtobuf === true;
      protobuf = isProtobuf ? new MessageList({ ...messages, ...ELEMENT_LIMITS }) : undefined;
    },
    onChunks: (chunks) => (protobuf ?? json).write(...chunks),
    onEnd: (response) => {
      const page = protobuf === undefined ? json.end() : endMessages(protobuf, envelope);
      // Valid JSON of something else is no empty listing: zeros would be invented.
      if (!page.hasList) {
        const text = `${endpoint}: the response has no \`${list}\``;
        throw new RequestError('decode', text, { endpoint, node: request.node });
      }
      const { skipped, tooLarge } = page;
      // A list whose elements cannot be read is no empty listing, either.
      if (skipped > 0 && page.elements === 0 && tooLarge === 0) {
        const text = `${endpoint}: ${skipped} of ${page.elements + skipped} elements cannot be read`;
        throw new RequestError('decode', text, { endpoint, node: request.node });
      }
      stats.items += page.elements;
      if (tooLarge > 0) stats.limits.add('bytes');
      const unexpected = skipped - tooLarge + page.wrongTypes;
      recordDecodeErrors(decodeErrors, stats, endpoint, unexpected, tooLarge);
      // All elements that the response held, skipped ones included.
      return { elements: page.elements + skipped, envelope: page.envelope, response };
    },
  });
}

/** A message without elements is an empty list; what stands beside the list is not read. */
function endMessages<E extends ObjectShape>(messages: MessageList, shape: E) {
  const { value: envelope } = decodeValue(Buffer.from('{}'), shape);
  return { ...messages.end(), envelope, hasList: true, wrongTypes: 0 };
}
