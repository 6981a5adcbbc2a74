/** One command of the page: its purpose, and examples to run. */
export interface Section {
  readonly title: string;
  readonly text: string;
  readonly commands: readonly string[];
  /** Lines of output that the page shows; 10 by default. */
  readonly lines?: number;
}

export const SECTIONS: readonly Section[] = [
  {
    title: 'check',
    text: 'Reads the configuration as the exporter would and reports every error with file, line and column. `serve --config.check` does the same.',
    commands: ['check'],
  },
  {
    title: 'diagnose',
    text: 'Checks every step from the certificate of each URL to the metrics and reports how to fix what fails: the SQL to run, the flag to set, the role to request. It polls every collector once, disabled ones too, with its options and until its timeout, as the exporter does. Of the ranges it reads the smallest live node, compares the replicas with the count of that node, and estimates what a scan of all nodes costs; `--scan` reads all nodes. It asks each URL for one range, which shows whether one ignores `ranges=`. `--report FILE` also writes what a maintainer needs to know of the server, as JSON that is safe to publish ([what it holds](compatibility.md#send-a-report-of-your-version)). The exit code is 1 when a check failed.',
    commands: ['diagnose'],
    lines: 24,
  },
  {
    title: 'nodes',
    text: 'Every node with its state, the age of its status record, version, locality and load. Nodes that are down come first; figures of a stale record are `-`. JSON holds all metrics the nodes report, null where the record is stale. `--safe-to-stop` lists only nodes that may stop, one at a time, and says why the others may not. It scans all ranges, reads the descriptor of each and who reaches whom, all afresh, and prints first what that costs. [What is proved](questions.md#which-node-may-stop). The exit code is 1 when no node is listed, or it is not known.',
    commands: ['nodes', 'nodes --safe-to-stop'],
  },
  {
    title: 'ranges',
    text: 'One line for each replica on every live node, or on one node. `--problems` shows only those that report a problem, and says whether ranges are missing that no node reports, by their keys (in JSON `key_space`: complete, incomplete, or unknown where a node was not read); `--hot N` the ranges with most queries. `--still-after 10m` reads one node twice, with that time between, and shows what is still there; `--few-voters` shows the ranges with fewer voters than the zone of their table wants, by their descriptors ([what it cannot know](questions.md#fewer-voters-than-the-zone-wants)). Keys are not shown, since they may hold user data. Nodes are read one after the other to limit the load.',
    commands: ['ranges --hot 5', 'ranges --problems'],
  },
  {
    title: 'range',
    text: 'All that the live nodes know of single ranges: the replicas and who of them votes, by the descriptor; the leaseholder, Raft state, load, the last leases, and for each problem its meaning and the next step. A range that no live node reports was merged, dropped, or lost with the nodes that are down. Only these ranges are queried. `--watch` repeats until no problem is left.',
    commands: ['range 7 12'],
  },
  {
    title: 'sessions',
    text: 'Open SQL sessions. `--user` and `--application` filter them (`--application unset`: those without a name), `--older-than 5m` keeps those with an older transaction or query. SQL text is shown only with `--show-sql`.',
    commands: ['sessions'],
  },
  {
    title: 'jobs',
    text: 'Jobs of the cluster, those that failed or are paused first (`GET /_admin/v1/jobs`, no stable API). `--failed` and `--paused` keep only those. The user needs `VIEWJOB` to see the jobs of others. Error texts and descriptions are shown only here, never in metrics or logs.',
    commands: ['jobs'],
  },
  {
    title: 'users',
    text: 'SQL users. The user of the exporter needs `SELECT` on `system.users`.',
    commands: ['users'],
  },
  {
    title: 'tables',
    text: 'The tables that the user may see, the largest first: size on disk over all replicas, data of one replica, its live share, and when the server computed them (from version 24.3 on). `--load` reads all ranges and adds queries, writes and CPU.',
    commands: ['tables --database movr', 'tables --load --sort qps'],
  },
  {
    title: 'table',
    text: 'A table: size, zone configuration, privileges and its CREATE TABLE statement; JSON also has the columns and indexes. The API can address only names that need no quotes.',
    commands: ['table movr rides'],
  },
  {
    title: 'network',
    text: 'Who does not reach whom: the failed connections between live nodes with the error of the server, then the ten slowest, each pair of nodes once, with their round-trip times. A live node that could not be asked is named on standard error. Servers have this list from version 23.2 on.',
    commands: ['network'],
  },
  {
    title: 'sql',
    text: 'The rows of a query of `collectors.sql.queries` ([your own queries](sql.md)), whether the collector is enabled or not. Where the server refuses it, the command prints the text of the server, which is in no log, and the GRANT that is missing.',
    commands: ['sql schedules'],
  },
  {
    title: 'probe',
    text: 'Polls every enabled collector once and prints the metrics of the cluster as in a scrape.',
    commands: ['probe --no-collector.ranges'],
  },
  {
    title: 'cloud rename-database',
    text: 'Commands that change something print the change and the cluster, ask for confirmation on a terminal, and need `--yes` in a non-interactive session.',
    commands: ['cloud rename-database bank money --yes'],
  },
  {
    title: 'cloud assistant',
    text: 'The migration assistant. `provision --wait` waits until it is running (exit code 0) or has failed (1); Ctrl-C ends the waiting, not the provisioning. The password for signing in is printed only with `--show-password`.',
    commands: ['cloud assistant provision --region us-west2 --yes --wait'],
  },
  {
    title: 'cloud ca-cert',
    text: 'The CA certificates that the migration assistant trusts for its source database: `get`, `set FILE`, which sends the certificates of a PEM file and refuses one with a private key, and `delete`, which first prints the bundle or writes it to a new file with `--save FILE`.',
    commands: [],
  },
  {
    title: 'completion',
    text: 'Prints a script that completes commands, options, their values, metrics, settings of rules, and the clusters of the `--config.file` in the line, in bash, zsh or fish; `completion --help` lists where to put it.',
    commands: [],
  },
];
