import type { Account, SimulatorOptions } from '../options.ts';

/** SQL users of every world; `root` has no password, so a login as root is impossible. */
const BUILT_IN: readonly Account[] = [
  { name: 'root', admin: true },
  { name: 'admin_user', password: 'admin-demo', admin: true },
  { name: 'watcher', password: 'watcher-demo', privileges: ['VIEWCLUSTERMETADATA'] },
  { name: 'plain', password: 'plain-demo' },
  { name: 'movr' },
  { name: 'reporting' },
  { name: 'payments' },
];

/** The privileges for monitoring: nodes, ranges, all sessions without constants in SQL, users and names of tables, and for SQL of the user. */
const EXPORTER_PRIVILEGES = [
  'VIEWCLUSTERMETADATA',
  'VIEWACTIVITYREDACTED',
  'VIEWJOB',
  'VIEWCLUSTERSETTING',
  'SELECT_SYSTEM',
  'SELECT_USERS',
  'CONNECT',
] as const;

/** The accounts of a new world by name; those of the options replace built-in ones. */
export function createAccounts(options: SimulatorOptions): Account[] {
  const exporter: Account = {
    name: normalizeName(options.username),
    password: options.password,
    privileges: EXPORTER_PRIVILEGES,
    // The documented API requires an administrator.
    admin: options.dialect === 'documented',
  };
  const byName = new Map<string, Account>();
  for (const account of [...BUILT_IN, exporter, ...options.users]) {
    const name = normalizeName(account.name);
    byName.set(name, { ...account, name });
  }
  return [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** User names are case-insensitive, like SQL names. */
export function normalizeName(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
