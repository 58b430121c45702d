import type { createMonitor as operation } from '../../../shared/api/monitors.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { newPingToken, pingFingerprint } from '../../../shared/checks/heartbeat/config.ts';
import { pingTokenOf } from '../../access/access-secrets-at-rest.ts';
import { draftMonitor } from '../../domain/monitor.ts';
import { mayHaveOneMore } from '../../domain/plan-limits.ts';
import { checkersOf } from '../../store/store-checking-probes.ts';
import { groupsAmong } from '../../store/store-groups.ts';
import { standingMonitor } from '../../store/store-monitor-standings.ts';
import { countMonitors, insertMonitor, monitorForChange, monitorsCalled, tellOwner, writeMembership } from '../../store/store-monitors.ts';
import { insertPingToken } from '../../store/store-ping-tokens.ts';
import { type Answer, type InOrganisation, Otherwise } from '../operation-context.ts';
import { found, notFound } from '../operation-not-found.ts';
import { labelsOf, patchOf, typeDiffers } from './operation-known-monitor.ts';
import { changeMonitor } from './operation-monitor-change.ts';
import { monitorOut } from './operation-monitor-out.ts';
import { sealSecrets } from './operation-monitor-secrets.ts';
import { monitorNow } from './operation-monitor-standing-out.ts';

type Input = InputOf<typeof operation>;

const changeExisting = async (context: InOrganisation, id: string, input: Input): Answer<OutputOf<typeof operation>> => {
  const row = found(await monitorForChange(context.sql, context.organisation.id, id), 'monitor_not_found');
  if (row.type !== input.type) throw typeDiffers(row);
  return new Otherwise(200, await changeMonitor(context, row, patchOf(input)));
};

/** The domain says what a monitor may be, the plan how many there may be; a heartbeat gets a token of its own. */
export const createMonitor = async (context: InOrganisation, input: Input): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation, note, now } = context;
  const { secrets, partitionOf } = context.with;
  const { id: of, plan } = organisation;
  const labels = labelsOf(input);
  // Asking twice makes one: the organisation's lock lets a second caller see what the first one made.
  const existing = labels.external_id === null ? undefined : (await monitorsCalled(sql, of, [labels.external_id])).get(labels.external_id);
  if (existing !== undefined) return changeExisting(context, existing, input);
  const draft = draftMonitor(input, of, { plan, checkers: await checkersOf(sql, of) });
  if (draft.group !== null && !(await groupsAmong(sql, of, [draft.group])).has(draft.group)) throw notFound('group_not_found');
  mayHaveOneMore('monitors', plan, await countMonitors(sql, of));
  const id = newId();
  const partition = partitionOf(id);
  const row = await insertMonitor(sql, id, partition, draft, await sealSecrets(secrets, sql, id, draft.secrets), labels);
  if (draft.group !== null) await writeMembership(sql, of, id, draft.group);
  if (draft.kind === 'heartbeat') {
    const token = newPingToken();
    const box = await secrets.seal(sql, token, pingTokenOf(id));
    await insertPingToken(sql, { fingerprint: pingFingerprint(token), monitor: id, organisation: of, box });
  }
  await tellOwner(sql, { organisation: of, partition }, { monitor: id, change: 'created', what_is_checked_changed: false });
  note({ after: monitorOut(row) });
  return monitorNow(found(await standingMonitor(sql, of, id), 'monitor_not_found'), now);
};
