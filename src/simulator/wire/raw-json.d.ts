interface JSON {
  /** A piece of JSON that is written as it stands; in V8 for long, not yet in TypeScript's library. */
  rawJSON(text: string): object;
}
