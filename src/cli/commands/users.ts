import type { Command } from 'commander';
import { users } from '../../collectors/users.ts';
import { object, string } from '../../json/shape.ts';
import { addClusterAction, type ClusterTarget } from '../cluster-target.ts';
import { addExamples, type CommandContext } from '../command.ts';
import { addListingOptions, type ListingOptions, openListing } from '../output/listing.ts';

/** `users`: GET /users/. */
export function define(command: Command, context: CommandContext): void {
  addListingOptions(command);
  addClusterAction(command, context, users, printUsers);
  addExamples(
    command,
    'users --config.file=exporter.yml',
    'users --output json --config.file=exporter.yml --cluster prod',
  );
}

async function printUsers(target: ClusterTarget, options: ListingOptions): Promise<void> {
  const listing = openListing<{ username: string }>(options, 'users', [
    { title: 'USER', value: ({ username }) => username, isWhole: true },
  ]);
  await target.api.users(target.stats, {
    shape: object({ username: string() }),
    onUser: ({ username = '' }) => listing.add({ username }),
  });
  await listing.close();
}
