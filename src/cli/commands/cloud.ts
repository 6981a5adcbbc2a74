import type { Command } from 'commander';
import { addClusterAction, type ClusterTarget, confirm } from '../cluster-target.ts';
import { addExamples, type CommandContext } from '../command.ts';
import { addListingOptions, type ListingOptions, openListing } from '../output/listing.ts';
import { defineAssistant } from './cloud/assistant.ts';
import { defineCaCert } from './cloud/ca-cert.ts';

const RENAME_DATABASE = {
  name: 'rename-database',
  api: 'cloud',
  privilege: 'the role CLUSTER_ADMIN, CLUSTER_OPERATOR_WRITER or CLUSTER_DATA_ACCESSOR',
  verification: 'with SHOW DATABASES',
  remedies: {
    404: 'check the old name: it must be a database of this cluster',
    409: 'choose another new name',
  },
} as const;

/** `cloud …`: the operations of the Cloud API. */
export function define(command: Command, context: CommandContext): void {
  defineRenameDatabase(command, context);
  defineAssistant(command, context);
  defineCaCert(command, context);
}

/** `cloud rename-database OLD NEW`: PATCH …/databases. */
function defineRenameDatabase(parent: Command, context: CommandContext): void {
  const command = parent
    .command('rename-database')
    .description('rename a database')
    .argument('<old>', 'current name of the database')
    .argument('<new>', 'new name');
  addListingOptions(command);
  addClusterAction(command, context, RENAME_DATABASE, rename);
  addExamples(command, 'cloud rename-database movr rides --config.file=exporter.yml');
}

async function rename(
  target: ClusterTarget<'cloud'>,
  name: string,
  newName: string,
  options: ListingOptions & { readonly yes?: boolean },
): Promise<void> {
  const change = `rename the database ${JSON.stringify(name)} to ${JSON.stringify(newName)}`;
  await confirm(target, change, options.yes);
  const renamed = await target.api.renameDatabase(target.stats, { name, newName });
  const database = renamed ?? { name: newName, table_count: undefined };
  const listing = openListing<typeof database>(options, {
    member: 'databases',
    columns: [
      { title: 'DATABASE', value: (renamedDatabase) => renamedDatabase.name },
      { title: 'TABLES', value: (renamedDatabase) => renamedDatabase.table_count },
    ],
  });
  listing.add(database);
  await listing.close();
}
