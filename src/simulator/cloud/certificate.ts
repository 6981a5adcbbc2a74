import type { Answer } from '../http/answer.ts';
import type { Arrival } from '../http/serve.ts';
import { cloudAnswer, cloudError } from './answers.ts';
import { bodyOf, textMember, type CloudServer } from './service.ts';

/** The CA bundle that the assistant trusts: GET, PATCH and DELETE; an empty one means the system's roots. */
export function answerCertificate(server: CloudServer, arrival: Arrival): Answer {
  const held = server.world.state.assistant;
  if (server.world.assistant() === undefined) {
    return cloudError('notFound', `migration assistant of cluster ${held.clusterId} not found`);
  }
  const before = held.certificate;
  if (arrival.method === 'DELETE') {
    held.certificate = '';
    return cloudAnswer({ x509_pem_cert: before });
  }
  if (arrival.method !== 'PATCH') return cloudAnswer({ x509_pem_cert: before });
  const text = textMember(bodyOf(arrival) ?? new Map(), 'x509_pem_cert');
  if (text === undefined || !text.includes('-----BEGIN CERTIFICATE-----')) {
    return cloudError('invalid', 'invalid argument: x509_pem_cert is not a PEM bundle');
  }
  held.certificate = text;
  return cloudAnswer({ x509_pem_cert: text });
}
