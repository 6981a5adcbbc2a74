import { type License, nodeOf, type WorldState } from './state.ts';

/** Changes to what nodes report of themselves. */
export interface RecordActions {
  setLicense(license: License): void;
  /** The records of the node, or of its stores, have this value from now on; undefined removes it. */
  setMetric(nodeId: number, key: string, value: number | undefined, of?: 'node' | 'stores'): void;
}

export function createRecordActions(state: WorldState): RecordActions {
  return {
    setLicense: (license) => {
      state.license = license;
      renewRecords(state);
    },
    setMetric: (nodeId, key, value, of = 'node') => {
      const { overrides } = nodeOf(state, nodeId);
      if (value === undefined) delete overrides[of][key];
      else overrides[of][key] = value;
      renewRecords(state);
    },
  };
}

/** Each node writes its record again when it is read next. */
export function renewRecords(state: WorldState): void {
  for (const node of state.nodes.values()) node.written = undefined;
}
