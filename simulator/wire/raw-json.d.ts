interface JSON {
  /** A piece of JSON that is written unchanged; supported by V8, but not yet in TypeScript's library. */
  rawJSON(text: string): object;
}
