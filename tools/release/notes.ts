const TAGGED = /^- \[(?:CHANGE|FEATURE|ENHANCEMENT|BUGFIX)\] \S.*\.$/;

/** What is wrong with the notes for a version: its changes, in tagged lines, and what to do about them. */
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

/** While it is written, a section is headed `## 1.2.3 / not released`. */
function findMissingDate(version: string, changes: string): readonly string[] {
  if (/^\S+ \/ \d{4}-\d\d-\d\d\n/.test(changes)) return [];
  const today = new Date().toISOString().slice(0, 10);
  return [`CHANGELOG.md: ${version} has no date: head it "## ${version} / ${today}"`];
}

/** Lines of the lists that do not say what kind of change they are. */
export function findUntaggedLines(changelog: string): readonly string[] {
  const items = changelog.split('\n').filter((line) => line.startsWith('- '));
  return items.filter((line) => !TAGGED.test(line)).map((line) => `CHANGELOG.md: no tag: ${line}`);
}

function sectionOf(text: string, version: string): string | undefined {
  return text.split(/^## /m).find((section) => section.split(/\s/, 1)[0] === version);
}
