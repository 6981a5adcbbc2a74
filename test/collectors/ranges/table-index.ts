import { parseTableIndex, type TableIndex } from '../../../src/collectors/ranges/table-index.ts';

/** The index in a pretty key, as `/Table/104/1`. */
export function tableIndexOf(key: string): TableIndex {
  const bytes = Buffer.from(key);
  return parseTableIndex(bytes, 0, bytes.length);
}
