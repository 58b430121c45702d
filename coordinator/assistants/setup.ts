import type { Clock } from '../../shared/base/time.ts';
import type { Sql } from '../database/connect.ts';
import { createAttempts } from '../gate/attempts.ts';
import { createDocumentReader } from '../outbound/documents.ts';
import type { AccountSecrets } from '../people/secrets.ts';
import type { MasterKeys } from '../secrets/keys.ts';
import { createAssistantKey } from './connections.ts';
import { createAssistantSecrets, createOauthRecords } from './oauth.ts';
import type { OauthDependencies } from './oauth-routes.ts';

type Dependencies = MasterKeys & {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly accountSecrets: AccountSecrets;
  /** Tests replace the usual way to addresses of others here. */
  readonly readDocument?: OauthDependencies['readDocument'] | undefined;
};

const hour = 3_600_000;

/** The dependencies of the assistants' sign-in. */
export const createAssistants = ({ sql, clock, accountSecrets, secretKey, previousKey, readDocument }: Dependencies) => {
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
