import { loginResponse } from './api-login.ts';
import { CA_CERT, DATABASES, errorBody } from './cloud-api.ts';
import { offsetEnvelope, sessionsEnvelope, tablesEnvelope } from './listings.ts';
import { describedRange } from './range-descriptor.ts';
import { sqlShape } from './sql-statement.ts';
import { throttlingShape } from './status-pages.ts';

/** The shapes that the clients read responses with, beside those of the collectors: for the list of fields, and for reports. */
export const CLIENT_SHAPES = {
  login: loginResponse,
  offsetPage: offsetEnvelope,
  sessionsPage: sessionsEnvelope,
  tablesPage: tablesEnvelope,
  descriptors: describedRange,
  throttling: throttlingShape,
  sql: sqlShape,
  cloudError: errorBody,
  caCertificate: CA_CERT.shape,
  databases: DATABASES.shape,
} as const;
