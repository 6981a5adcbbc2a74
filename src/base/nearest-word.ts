/** The one of `words` that was probably meant, or undefined when none is near. */
export function findNearest(word: string, words: readonly string[]): string | undefined {
  // Two letters in the wrong order are two edits.
  const farthest = Math.min(Math.max(2, Math.floor(word.length / 3)), word.length - 1);
  const [nearest] = words
    .filter(({ length }) => Math.abs(length - word.length) <= farthest)
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .filter(({ distance }) => distance <= farthest)
    .toSorted((a, b) => a.distance - b.distance);
  return nearest?.candidate;
}

/** Levenshtein: how many letters must be put in, taken out or replaced. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let line = 1; line <= from.length; line++) {
    const next = [line];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (to[column - 1] === from[line - 1] ? 0 : 1);
      const removed = (row[column] ?? 0) + 1;
      const added = (next[column - 1] ?? 0) + 1;
      next.push(Math.min(replaced, removed, added));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
