const TAGGED = /^- \[(?:CHANGE|FEATURE|ENHANCEMENT|BUGFIX)\] \S.*\.$/;

/** Problems of the notes for a version: sections in both files, with tagged lines. */
export function findNoteProblems(
  version: string,
  { changelog, upgrading }: { readonly changelog: string; readonly upgrading: string },
): readonly string[] {
  const changes = sectionOf(changelog, version);
  const steps = sectionOf(upgrading, version);
  return [
    ...(changes === undefined
      ? [`CHANGELOG.md has no section "## ${version}"`]
      : findMissingDate(version, changes)),
    ...(steps === undefined ? [`UPGRADING.md has no section "## ${version}"`] : []),
    ...findUntaggedLines(changelog),
  ];
}

/** Until the release, the heading of a section is `## 1.2.3 / not released`. */
function findMissingDate(version: string, changes: string): readonly string[] {
  if (/^\S+ \/ \d{4}-\d\d-\d\d\n/.test(changes)) return [];
  const today = new Date().toISOString().slice(0, 10);
  return [`CHANGELOG.md: ${version} has no date: use the heading "## ${version} / ${today}"`];
}

/** List items without the tag of their kind of change. */
export function findUntaggedLines(changelog: string): readonly string[] {
  const items = changelog.split('\n').filter((line) => line.startsWith('- '));
  return items.filter((line) => !TAGGED.test(line)).map((line) => `CHANGELOG.md: no tag: ${line}`);
}

function sectionOf(text: string, version: string): string | undefined {
  return text.split(/^## /m).find((section) => section.split(/\s/, 1)[0] === version);
}
