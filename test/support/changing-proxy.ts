import type { WireRange } from '../simulator/client.ts';
import { serve, type TestServer } from './http-server.ts';

/** Which elements of a response with ranges get through. */
export type Keep = (range: WireRange, index: number) => boolean;

/** An HTTP proxy before the API at `target`, which leaves elements of lists of ranges out. */
export function openLossyProxy(target: string, keep: Keep): Promise<TestServer> {
  return openProxy(target, (url, text) =>
    /\/nodes\/\w+\/ranges\//.test(url) ? withoutSome(text, keep) : text,
  );
}

/** An HTTP proxy before the API at `target`, which changes the bodies of responses. All of them are JSON. */
export function openProxy(
  target: string,
  change: (url: string, text: string) => string,
): Promise<TestServer> {
  return serve((request, response) => {
    const body = request.method === 'POST' ? { body: request, duplex: 'half' as const } : {};
    const headers = Object.entries(request.headers).flatMap(([name, value]) =>
      typeof value === 'string' && !HOP_BY_HOP.has(name) && value !== PROTOBUF
        ? [[name, value] as [string, string]]
        : [],
    );
    const forward = async (): Promise<void> => {
      const { method = 'GET', url = '/' } = request;
      // By default fetch asks for gzip, which costs more CPU than the answer.
      headers.push(['accept-encoding', 'identity']);
      const answer = await fetch(new URL(url, target), { method, headers, ...body });
      const text = await answer.text();
      response.statusCode = answer.status;
      response.setHeader('Content-Type', answer.headers.get('Content-Type') ?? 'text/plain');
      response.setHeader('Date', answer.headers.get('Date') ?? '');
      response.end(change(url, text));
    };
    forward().catch(() => response.destroy());
  });
}

/** Without this type in its headers a request is answered in JSON. */
const PROTOBUF = 'application/x-protobuf';

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'host',
  'transfer-encoding',
]);

function withoutSome(text: string, keep: Keep): string {
  const list: { readonly ranges: readonly WireRange[] } = JSON.parse(text);
  return JSON.stringify({ ...list, ranges: list.ranges.filter(keep) });
}
