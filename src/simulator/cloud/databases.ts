import type { Answer } from '../http/answer.ts';
import type { Arrival } from '../http/serve.ts';
import { renameDatabase } from '../world/tables.ts';
import { cloudAnswer, cloudError } from './answers.ts';
import { bodyOf, textMember, type CloudServer } from './service.ts';

const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$/;

/** PATCH /databases with both names, or PATCH /databases/{name} with the new one. */
export function answerDatabase(
  server: CloudServer,
  arrival: Arrival,
  pathName: string | undefined,
): Answer {
  const body = bodyOf(arrival);
  if (body === undefined)
    return cloudError('invalid', 'invalid argument: body is not a JSON object');
  const name = pathName ?? textMember(body, 'name');
  const newName = textMember(body, 'new_name');
  if (name === undefined || newName === undefined || !NAME.test(newName)) {
    return cloudError('invalid', 'invalid argument: name and new_name must be valid names');
  }
  const { tables } = server.world.state;
  if (tables.some((table) => table.database === newName)) {
    return cloudError('exists', `database "${newName}" already exists`);
  }
  if (!renameDatabase(tables, name, newName)) {
    return cloudError('notFound', `database "${name}" does not exist`);
  }
  const count = tables.filter((table) => table.database === newName).length;
  return cloudAnswer({ name: newName, table_count: String(count) });
}
