import type { muteAlerts as muting, showMute as showing, unmuteAlerts as unmuting } from '../../../shared/api/inner/inner-alerts.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { muteFrom } from '../../domain/telling/telling-waits.ts';
import { beginMute, endMute, muteNow } from '../../store/store-mutes.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

export const showMute = async ({ sql, organisation, now }: InOrganisation): Answer<OutputOf<typeof showing>> => {
  const mute = await muteNow(sql, organisation.id, new Date(now));
  return { until: mute?.until.toISOString() ?? null, by: mute?.by ?? null };
};

/** Another mute takes the place of the one before. */
export const muteAlerts = async (context: InOrganisation, { minutes }: InputOf<typeof muting>): Answer<OutputOf<typeof muting>> => {
  const { sql, organisation, caller, now } = context;
  await beginMute(sql, {
    ...{ organisation: organisation.id, user: caller.user },
    ...{ at: new Date(now), until: new Date(now + muteFrom(minutes) * 60_000) },
  });
  return showMute(context);
};

export const unmuteAlerts = async (context: InOrganisation): Answer<OutputOf<typeof unmuting>> => {
  await endMute(context.sql, context.organisation.id, new Date(context.now));
  return showMute(context);
};
