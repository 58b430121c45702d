import type { Clock } from '../shared/base/time.ts';
import type { AccountSecrets } from './access/access-account-secrets.ts';
import { createAssistantKey } from './access/access-assistant-connections.ts';
import { createAttempts } from './access/access-attempts.ts';
import type { MasterKeys } from './access/access-master-keys.ts';
import { createAssistantSecrets, createOauthRecords } from './access/access-oauth-records.ts';
import type { OauthParts } from './faces/oauth/oauth-routes.ts';
import { createDocumentReader } from './outgoing/outgoing-client-documents.ts';
import type { Sql } from './store/store-database.ts';

type Parts = MasterKeys & {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly accountSecrets: AccountSecrets;
  /** What tests put in the place of the usual way to addresses of others. */
  readonly readDocument?: OauthParts['readDocument'] | undefined;
};

const hour = 3_600_000;

/** What the signing-in of assistants needs of the house. */
export const createAssistants = ({ sql, clock, accountSecrets, secretKey, previousKey, readDocument }: Parts) => {
  const key = createAssistantKey(sql, { secretKey, previousKey });
  const documents = createDocumentReader();
  return {
    records: createOauthRecords(sql, clock, key),
    secrets: createAssistantSecrets(key),
    attempts: createAttempts(sql, clock, accountSecrets, hour),
    readDocument: readDocument ?? documents.read,
    close: documents.close,
  };
};
