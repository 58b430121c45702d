import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { tryMonitor as operation } from '../../../shared/api/test-runs.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { asSplit } from '../../../shared/checks/config.ts';
import { draftMonitor } from '../../domain/monitor.ts';
import { checkersOf } from '../../store/store-checking-probes.ts';
import { monitorForChange } from '../../store/store-monitors.ts';
import { countTrial } from '../../store/store-trials.ts';
import { openSecrets } from '../monitors/operation-monitor-secrets.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

/** A trial asks every continent at once, so that a target is safe from somebody who presses the button. */
const mostAMinute = 10;

export const tryMonitor = async (
  { sql, organisation, caller, now, with: { secrets: atRest, trials } }: InOrganisation,
  { monitor: id, ...input }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { id: of, plan } = organisation;
  const row = id === null ? undefined : found(await monitorForChange(sql, of, id), 'monitor_not_found');
  const stored = row && {
    secrets: asSplit(row.type, row.config, await openSecrets(atRest, sql, row.id, row.secrets)).secrets,
    target: row.target,
  };
  const wanted = { ...input, name: 'trial', group: null, affects_group_status: true };
  const { kind, target, interval_s, config, secrets } = draftMonitor(wanted, of, { plan, checkers: await checkersOf(sql, of) }, stored);
  if (kind === 'heartbeat') throw new Refusal('trial_impossible', 'A heartbeat cannot be tried: it waits for your job to speak.');
  if ((await countTrial(sql, of, new Date(now))) > mostAMinute)
    throw new Refusal('trial_limit', `An organisation may try ${mostAMinute} times a minute; wait a moment, or save and see.`);
  const like = row && { id: row.id, key: row.key };
  const owner = { organisation: of, user: caller.user };
  const trial = trials.begin({ ...owner, kind, target, interval_s, config, secrets, like });
  if (trial === undefined)
    throw new Refusal('trial_impossible', 'Probes cannot be asked just now; save, and see what they find, or try again.');
  // More than none less one are known: it does not wait for anybody.
  const begun = await trials.hear(trial, owner, -1);
  return { trial, asked: begun?.asked.map((probe) => ({ ...probe })) ?? [] };
};
