import type { Account, SimulatorOptions } from '../options.ts';

/** SQL users that every world has; `root` has no password, so nobody can log in as root. */
const BUILT_IN: readonly Account[] = [
  { name: 'root', admin: true },
  { name: 'admin_user', password: 'admin-demo', admin: true },
  { name: 'watcher', password: 'watcher-demo', privileges: ['VIEWCLUSTERMETADATA'] },
  { name: 'plain', password: 'plain-demo' },
  { name: 'movr' },
  { name: 'reporting' },
  { name: 'payments' },
];

/** What monitoring needs: nodes, ranges and everybody's sessions without their constants, and the list of users. */
const EXPORTER_PRIVILEGES = [
  'VIEWCLUSTERMETADATA',
  'VIEWACTIVITYREDACTED',
  'SELECT_USERS',
] as const;

/** The accounts of a new world by name; those of the options replace built-in ones. */
export function growAccounts(options: SimulatorOptions): Account[] {
  const exporter: Account = {
    name: normalizeName(options.username),
    password: options.password,
    privileges: EXPORTER_PRIVILEGES,
    // The documents know administrators only.
    admin: options.dialect === 'documented',
  };
  const byName = new Map<string, Account>();
  for (const account of [...BUILT_IN, exporter, ...options.users]) {
    const name = normalizeName(account.name);
    byName.set(name, { ...account, name });
  }
  return [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** User names are folded to lower case, as SQL does with names. */
export function normalizeName(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
