/** The page at `/`: what this is and where the rest is. */
export function landingPage(page: {
  readonly version: string;
  readonly telemetryPath: string;
}): string {
  const version = escapeHtml(page.version);
  const metrics = escapeHtml(page.telemetryPath);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>crdb-exporter</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; color-scheme: light dark; }
</style>
</head>
<body>
<h1>crdb-exporter</h1>
<p>Prometheus exporter for CockroachDB, version ${version}.</p>
<ul>
<li><a href="${metrics}">Metrics</a></li>
<li><a href="/-/healthy">Health</a></li>
<li><a href="/-/ready">Readiness</a></li>
</ul>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
