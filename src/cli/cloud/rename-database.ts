import type { Command } from 'commander';
import { addExamples, type Invocation } from '../command.ts';
import { addConfirmOption, confirm } from '../confirm.ts';
import { EXIT } from '../exit.ts';
import { addListingOptions, type Format, openListing } from '../listing.ts';
import { addTargetOptions, type Target, withTarget } from '../target.ts';
import { cloudApiOf, describeCluster } from './cloud-target.ts';

interface Asked {
  readonly name: string;
  readonly newName: string;
  readonly output: Format;
  readonly yes?: boolean;
}

/** `cloud rename-database OLD NEW`: PATCH …/databases. */
export function defineRenameDatabase(parent: Command, invocation: Invocation): void {
  const command = parent
    .command('rename-database')
    .description('rename a database')
    .argument('<old>', 'name that the database has')
    .argument('<new>', 'name that it gets');
  addConfirmOption(command);
  addListingOptions(command);
  addTargetOptions(command);
  addExamples(command, 'cloud rename-database movr rides --config.file=exporter.yml');
  command.action(
    async (name: string, newName: string, options: Omit<Asked, 'name' | 'newName'>) => {
      const work = (target: Target): Promise<number> =>
        rename(target, { ...options, name, newName });
      invocation.done(
        await withTarget(command, invocation, { operation: 'rename-database', work }),
      );
    },
  );
}

async function rename(
  target: Target,
  { name, newName, output, yes = false }: Asked,
): Promise<number> {
  const api = cloudApiOf(target);
  const plan = {
    what: `rename the database ${JSON.stringify(name)} to ${JSON.stringify(newName)}`,
    where: describeCluster(target),
  };
  await confirm(plan, { isAgreed: yes, signal: target.ending.signal });
  const answer = await api.renameDatabase(target.reading, { name, newName });
  const renamed = answer ?? { name: newName, table_count: undefined };
  const listing = openListing<typeof renamed>({
    format: output,
    member: 'databases',
    columns: [
      { title: 'DATABASE', value: (database) => database.name },
      { title: 'TABLES', value: (database) => database.table_count },
    ],
  });
  listing.add(renamed);
  await listing.close();
  return EXIT.good;
}
