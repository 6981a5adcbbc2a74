// Rules, alerts and dashboards in the form of https://monitoring.mixins.dev, for jsonnet-bundler, Tanka and mixtool.
// Other limits and severities: change _config.rules to a file of `crdb-exporter rules --set`, and the dashboards likewise.
{
  _config+:: {
    // The text of a rules file.
    rules: importstr 'config/prometheus/rules.yml',
  },

  // A `---`, which formatters add, makes a list of the one document; a comment before it makes an empty one.
  local parsed = std.parseYaml($._config.rules),
  local documents = if std.isArray(parsed) then [each for each in parsed if each != null] else [parsed],
  local groups = documents[0].groups,
  // The rules that have this member, in their groups.
  local rulesWith(member) = [
    group { rules: chosen }
    for group in groups
    for chosen in [[rule for rule in group.rules if std.objectHas(rule, member)]]
    if std.length(chosen) > 0
  ],

  prometheusAlerts+:: { groups+: rulesWith('alert') },
  prometheusRules+:: { groups+: rulesWith('record') },
  grafanaDashboards+:: {
    'crdb-exporter.json': import 'dashboards/crdb-exporter.json',
    'crdb-fleet.json': import 'dashboards/crdb-fleet.json',
    'crdb-load.json': import 'dashboards/crdb-load.json',
    'crdb-nodes.json': import 'dashboards/crdb-nodes.json',
    'crdb-overview.json': import 'dashboards/crdb-overview.json',
    'crdb-ranges.json': import 'dashboards/crdb-ranges.json',
    'crdb-sql.json': import 'dashboards/crdb-sql.json',
    'crdb-tables.json': import 'dashboards/crdb-tables.json',
  },
}
