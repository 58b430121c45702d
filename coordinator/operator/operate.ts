import { createLog } from '../../shared/base/log.ts';
import { systemClock } from '../../shared/base/time.ts';
import { createBackups } from '../backups/nightly.ts';
import { adoptRecoveredDatabase, readBackup } from '../backups/restore.ts';
import { writeBackup } from '../backups/write.ts';
import { type Config, readConfig } from '../config.ts';
import { connect, longWork } from '../database/connect.ts';
import { migrate } from '../database/migrate.ts';
import { connectionFault } from '../database/startup.ts';
import { createOrganisationLookup } from '../gate/lookups.ts';
import { userNamed } from '../people/queries.ts';
import { createGateSetup } from '../setup.ts';
import { isAlone, runAlone, runUnderstood, type Streams, understand } from './command-line.ts';

/**
 * `node coordinator/main.ts operator …`: one of the operator's commands, on the coordinator's
 * machine and in its environment. Its exit code: 0 done, 1 refused, 2 unknown command. @throws
 * ConfigurationFault when the environment describes no coordinator.
 */
export async function operate(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  streams: Streams,
): Promise<number> {
  const understood = understand(argv, streams);
  if (typeof understood === 'number') return understood;
  if (isAlone(understood)) return runAlone(understood, streams);
  const config = readConfig(environment);
  const log = createLog({ name: 'operator', level: 'silent' });
  const sql = connect(config.DATABASE_URL, {
    name: 'antipode operator',
    connections: 2,
    patience: longWork,
  });
  const baseUrl = () => config.BASE_URL ?? `http://${config.HOST}:${config.PORT}`;
  const { gate, tokens, secrets, notifications } = createGateSetup({
    config,
    sql,
    clock: systemClock,
    log,
    baseUrl,
  });
  try {
    await sql`select 1`.catch((error: unknown) => {
      throw connectionFault(error, config.DATABASE_URL);
    });
    return await runUnderstood(
      understood,
      {
        gate,
        organisations: createOrganisationLookup(sql),
        userNamed: (email) => userNamed(sql, email),
        migrate: () => migrate(sql),
        backup: (file, progress, what) => writeBackup(sql, file, progress, what),
        backups: {
          ...createBackups({
            sql,
            clock: systemClock,
            settings: backupSettingsOf(config),
            warn: streams.err,
          }),
          takeUp: () => adoptRecoveredDatabase(sql),
        },
        restore: (file, replace, progress) => readBackup(sql, file, replace, progress),
        keys: keysOf(config),
        rotateKey: () => secrets.rotate(sql),
        replaceSecretKey:
          config.SECRET_KEY_PREVIOUS === undefined
            ? undefined
            : (progress) => secrets.replaceSecretKey(sql, progress),
      },
      streams,
    );
  } finally {
    await tokens.close();
    await notifications.close();
    await sql.end({ timeout: 5 });
  }
}

function backupSettingsOf(config: Config) {
  return {
    databaseUrl: config.DATABASE_URL,
    trialUrl: config.BACKUP_TRIAL_URL,
    heartbeat: config.BACKUP_HEARTBEAT_URL,
  };
}

/** What no backup contains, and no one could create again. */
function keysOf(config: Config): Readonly<Record<string, string>> {
  return {
    SECRET_KEY: config.SECRET_KEY,
    ...(config.SECRET_KEY_PREVIOUS === undefined
      ? {}
      : { SECRET_KEY_PREVIOUS: config.SECRET_KEY_PREVIOUS }),
    NATS_ACCOUNT_PUBLIC: config.NATS_ACCOUNT_PUBLIC,
    NATS_ACCOUNT_SEED: config.NATS_ACCOUNT_SEED,
    NATS_OPERATOR_SEED: config.NATS_OPERATOR_SEED,
    NATS_CREDENTIALS: config.NATS_CREDENTIALS,
    NATS_SYSTEM_CREDENTIALS: config.NATS_SYSTEM_CREDENTIALS,
  };
}
