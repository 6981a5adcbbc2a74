/** One command of the page: what it is for, and what to run. */
export interface Section {
  readonly title: string;
  readonly text: string;
  readonly commands: readonly string[];
}

export const SECTIONS: readonly Section[] = [
  {
    title: 'check',
    text: 'Reads the configuration as the exporter would and tells every error at once, with file, line and column. `serve --config.check` does the same.',
    commands: ['check'],
  },
  {
    title: 'diagnose',
    text: 'Goes step by step from the name of each host to the metrics and says how to mend what fails: the SQL to run, the flag to set, the role to ask for. It also estimates what a scan of all ranges costs and how many series to expect. Ends with 1 when something is wrong. `--output json` for programs.',
    commands: ['diagnose'],
  },
  {
    title: 'nodes',
    text: 'Every node with its state, version, locality and load. Figures of a stale record (a dead or frozen node) are `-` and sorted last. In JSON with all metrics that the nodes report, null where the record is stale.',
    commands: ['nodes', 'nodes --sort cpu'],
  },
  {
    title: 'ranges',
    text: 'One line for each replica on every node that lives, or on the one that is named. `--problems` leaves those that report a problem, `--hot N` the ranges with most queries. Where keys begin and end is shown only with `--show-keys`, since keys may hold user data. Nodes are read one after the other, so that the scan is no burden.',
    commands: ['ranges --hot 5', 'ranges --problems', 'ranges 1 --sort writes/s'],
  },
  {
    title: 'sessions',
    text: 'Open SQL sessions. `--user` and `--application` choose whose, `--older-than 5m` those whose transaction or query has been open for longer. The text of statements is shown only with `--show-sql`, addresses of clients only with `--show-clients`.',
    commands: ['sessions --sort txn-age', 'sessions --user movr --output ndjson'],
  },
  {
    title: 'users',
    text: 'SQL users. The user of the exporter needs `SELECT` on `system.users` for it.',
    commands: ['users'],
  },
  {
    title: 'table',
    text: 'A table: size, columns, indexes, privileges, zone configuration and the statement that makes it. The API can address only names that need no quotes.',
    commands: ['table movr rides'],
  },
  {
    title: 'probe',
    text: 'Polls every enabled collector once and prints what a scrape would hold of the cluster.',
    commands: ['probe --no-collector.ranges'],
  },
  {
    title: 'cloud rename-database',
    text: 'Commands that change something say what they will do and where, ask on a terminal, and need `--yes` elsewhere. They are repeated only when the service has surely not begun: after 429 or a refused connection.',
    commands: ['cloud rename-database bank money --yes'],
  },
  {
    title: 'cloud assistant',
    text: 'The migration assistant. `provision --wait` follows it until it runs (0) or has failed (1); Ctrl-C ends the waiting, not the provisioning. The password for signing in is printed only with `--show-password`.',
    commands: [
      'cloud assistant provision --region us-west2 --yes --wait',
      'cloud assistant get',
      'cloud assistant delete --yes',
    ],
  },
  {
    title: 'cloud ca-cert',
    text: 'The CA certificates that the migration assistant trusts for its source database: `get`, `set FILE` and `delete`, which prints the deleted bundle or writes it to a new file with `--save FILE`.',
    commands: ['cloud ca-cert get'],
  },
];
