import type { Infer, ObjectShape } from './shape.ts';

export interface DecoderLimits {
  /** A longer element is skipped and counted; a longer envelope member is an error. */
  readonly elementBytes: number;
  /** Open brackets within an element or an envelope member, its own included; likewise. */
  readonly depth: number;
  /** A longer document is an error. Default: no limit. */
  readonly documentBytes?: number;
}

export interface DecoderOptions<Element extends ObjectShape, Envelope extends ObjectShape> {
  /** The member of the document that holds the list. */
  readonly list: string;
  /** What is wanted of each element of the list. */
  readonly element: Element;
  /** What is wanted of the other members of the document. */
  readonly envelope: Envelope;
  /**
   * Called at once for each element. The record and the objects in it are filled again for the next
   * element: fold it and keep nothing but primitive values. What it throws comes out of `write`
   * or, as large elements at the end of a document may wait for it, of `end`.
   */
  readonly onElement: (element: Infer<Element>) => void;
  readonly limits: DecoderLimits;
}

export interface Decoded<Envelope> {
  readonly envelope: Envelope;
  /** Whether the document has the member of the list, be it null. */
  readonly hasList: boolean;
  /** Elements handed to `onElement`. */
  readonly elements: number;
  /** Elements not handed over: over a limit, or not objects. */
  readonly skipped: number;
  /** Values of the wrong kind: in what was handed over, and elements that are not objects. */
  readonly wrong: number;
  /** Whether an element was skipped because of a limit. */
  readonly limitHit: boolean;
}

export interface Decoder<Envelope> {
  /** Takes the next bytes of the document, cut anywhere. Throws JsonError. */
  write(chunk: Uint8Array): void;
  /** States that the document is complete. Throws JsonError. */
  end(): Decoded<Envelope>;
}
