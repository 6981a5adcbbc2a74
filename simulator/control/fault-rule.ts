import type { FaultEffect, FaultRule, FaultScope } from '../http/faults.ts';
import {
  choiceMember,
  ControlError,
  integerMember,
  numberMember,
  textMember,
  type Members,
} from './members.ts';

const KINDS = [
  'slow',
  'hang',
  'drip',
  'stall',
  'cut',
  'reset',
  'status',
  'bad-json',
  'text',
  'html',
  'wrong-length',
  'redirect',
  'huge',
  'gzip-bomb',
  'empty',
  'no-content',
  'cached',
  'old',
] as const;

/** A fault rule from a JSON object with the members of FaultRule. */
export function parseFaultRule(members: Members): FaultRule {
  return { ...parseScope(members), ...parseEffect(members) };
}

function parseScope(members: Members): FaultScope {
  const scope = {
    api: choiceMember(members, 'api', ['cluster', 'cloud'] as const),
    endpoint: textMember(members, 'endpoint'),
    node: numberMember(members, 'node'),
    gateway: numberMember(members, 'gateway'),
    skip: numberMember(members, 'skip'),
    times: numberMember(members, 'times'),
    probability: numberMember(members, 'probability'),
  };
  const given = Object.entries(scope).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}

function parseEffect(members: Members): FaultEffect {
  const kind = choiceMember(members, 'kind', KINDS);
  switch (kind) {
    case undefined:
      throw new ControlError(`kind: missing; one of ${KINDS.join(', ')}`);
    case 'slow':
      return { kind, ms: integerMember(members, 'ms') };
    case 'drip':
      return { kind, bytesPerSecond: integerMember(members, 'bytesPerSecond') };
    case 'stall':
    case 'cut':
      return { kind, bytes: integerMember(members, 'bytes') };
    case 'redirect':
      return { kind, location: textMember(members, 'location') ?? '/' };
    case 'status':
      return parseStatus(members);
    default:
      return { kind };
  }
}

function parseStatus(members: Members): FaultEffect {
  const body = textMember(members, 'body');
  const wait = textMember(members, 'retryAfter');
  return {
    kind: 'status',
    status: integerMember(members, 'status'),
    ...(body === undefined ? {} : { body }),
    ...(wait === undefined ? {} : { headers: { 'Retry-After': wait } }),
  };
}
