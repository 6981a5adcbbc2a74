import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import path from 'node:path';

/** A place in a stack trace of the compiled program: the file, its line and its column, both from 1. */
const PLACE = /(\/[^\n()]+\.cjs):(\d+):(\d+)/g;

/**
 * The stack of an error, with the files that the source maps beside the compiled program name. The maps are read when an error
 * is shown, and no earlier: they are as large as the program.
 */
export function sourceStack({ stack }: Error): string | undefined {
  const maps = new Map<string, SourceMap | undefined>();
  return stack?.replaceAll(PLACE, (place: string, file: string, line: string, column: string) => {
    if (!maps.has(file)) maps.set(file, readMap(file));
    const entry = maps.get(file)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (entry === undefined || !('originalSource' in entry)) return place;
    const source = path.join(path.dirname(file), entry.originalSource);
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  });
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')));
  } catch {
    // The program runs from its sources, or somebody has removed the maps: the place stays as it is.
    return undefined;
  }
}
