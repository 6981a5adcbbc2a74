import type { Command } from 'commander';
import { object, string } from '../json/shape.ts';
import { addExamples, type Invocation } from './command.ts';
import { EXIT } from './exit.ts';
import { addListingOptions, type Column, type Format, openListing } from './listing.ts';
import { addTargetOptions, clusterApiOf, type Target, withTarget } from './target.ts';

const shape = object({ username: string() });

interface User {
  readonly username: string;
}

const COLUMNS: readonly Column<User>[] = [{ title: 'USER', value: ({ username }) => username }];

/** `users`: GET /users/. */
export function define(command: Command, invocation: Invocation): void {
  addListingOptions(command);
  addTargetOptions(command);
  addExamples(
    command,
    'users --config.file=exporter.yml',
    'users --output json --config.file=exporter.yml --cluster prod',
  );
  command.action(async ({ output }: { readonly output: Format }) => {
    const work = (target: Target): Promise<number> => list(target, output);
    invocation.done(await withTarget(command, invocation, { operation: 'users', work }));
  });
}

async function list(target: Target, format: Format): Promise<number> {
  const listing = openListing({ format, member: 'users', columns: COLUMNS });
  await clusterApiOf(target).users(target.reading, {
    shape,
    onUser: ({ username = '' }) => listing.add({ username }),
  });
  await listing.close();
  return EXIT.good;
}
