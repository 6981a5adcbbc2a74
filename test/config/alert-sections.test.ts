import { expect, test } from 'vitest';
import { DEFAULT_FINDING_SETTINGS } from '../status/finding-settings.ts';
import { CLUSTER, problemsOfEach } from './bad-file.ts';
import { loadText, problemsOf } from './loading.ts';

const BAD = [
  `thresholds: { dsk: 0.3 }\n${CLUSTER}`,
  `thresholds:\n  cpu: 90\n  disk: 20%\n  clock_offset: 300\n  protected_age: 1h\n  memory: "0.8"\n  scan_minutes: 1.5\n${CLUSTER}`,
  `thresholds: { disk: 0.8, disk_critical: 0.9, heartbeat: 5 }\n${CLUSTER}`,
  `links: { runbook_url: wiki, dashboards_url: "https://g" }\n${CLUSTER}`,
  `links: { runbook_url: "https://wiki/?page=a", dashboard_url: "https://ops:secret@g" }\n${CLUSTER}`,
];

test('limits and links that cannot be used are reported with their remedy', async () => {
  expect(await problemsOfEach(BAD)).toMatchInlineSnapshot(`
    "
    exporter.yml:1:15: thresholds.dsk: unknown key "dsk"; did you mean "disk"?
    exporter.yml:2:8: thresholds.cpu: 90 is not a share above 0, up to 1: write 0.9 for 90 %
    exporter.yml:3:9: thresholds.disk: "20%" is not a share above 0, up to 1: write 0.9 for 90 %
    exporter.yml:4:17: thresholds.clock_offset: 300 is not a number of seconds from 0.001 to 60
    exporter.yml:5:18: thresholds.protected_age: "1h" is not a number of seconds from 10 to 2678400
    exporter.yml:6:11: thresholds.memory: "0.8" is not a share above 0, up to 1: write 0.9 for 90 %: remove the quotes
    exporter.yml:7:17: thresholds.scan_minutes: 1.5 is not a whole number of minutes
    exporter.yml:1:13: thresholds.heartbeat_critical: 3 must be more than heartbeat (5)
    exporter.yml:1:41: thresholds.disk_critical: 0.9 must be less than disk (0.8)
    exporter.yml:1:23: links.runbook_url: "wiki" does not begin with https:// or http://: write it as https://host/path
    exporter.yml:1:29: links.dashboards_url: unknown key "dashboards_url"; did you mean "dashboard_url"?
    exporter.yml:1:23: links.runbook_url: "https://wiki/?<secret>" has a query or a fragment: remove everything from the ? or # on
    exporter.yml:1:62: links.dashboard_url: "<secret>@g" holds a user or a password: remove them, or move them to username and password_file
    "
  `);
});

test('without thresholds and links there are the defaults', async () => {
  const { config } = await loadText(`thresholds:\nlinks: { runbook_url: "" }\n${CLUSTER}`);
  expect(config).toMatchObject(DEFAULT_FINDING_SETTINGS);
  expect(config.links).toEqual({ runbook_url: '', dashboard_url: '' });
});

test('a limit changes alone, and a link has no slash at its end', async () => {
  const links = 'links: { dashboard_url: "https://grafana.corp.internal/" }';
  const { config } = await loadText(
    `thresholds: { disk: 0.25, restarts: 5 }\n${links}\n${CLUSTER}`,
  );
  expect(config.thresholds).toEqual({
    ...DEFAULT_FINDING_SETTINGS.thresholds,
    disk: 0.25,
    restarts: 5,
  });
  expect(config.links.dashboard_url).toBe('https://grafana.corp.internal');
});

test('a name like no limit is answered with where they are listed', async () => {
  const [problem] = await problemsOf(loadText(`thresholds: { nonsense: 1 }\n${CLUSTER}`));
  expect(problem).toMatch(/unknown key "nonsense"; expected transaction_age, .* and \d+ more$/);
});
