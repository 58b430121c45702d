import type { getIncidentEvidence as operation } from '../../../shared/api/incidents.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { causeSentence } from '../../../shared/checks/causes.ts';
import type { Json } from '../../../shared/checks/result.ts';
import { uptimeOf, uptimeWithout } from '../../domain/monitor-history.ts';
import { windowOf } from '../../domain/uptime.ts';
import { notesOf } from '../../store/store-incident-notes.ts';
import { samplesOf } from '../../store/store-incident-samples.ts';
import { shareOf } from '../../store/store-incident-shares.ts';
import { incidentById, incidentEvidence, toldOf } from '../../store/store-incidents-read.ts';
import { monitorHistories } from '../../store/store-monitor-history.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { incidentOut } from './operation-incident-out.ts';

const record = (json: Json | null) => (typeof json === 'object' && json !== null && !Array.isArray(json) ? { ...json } : null);

/** The effect is told over the same days as a monitor's figures. */
const effectDays = 30;

/** With its evidence, which came from the target and is for members' eyes only. */
export const getIncidentEvidence = async (
  { sql, organisation, now }: InOrganisation,
  { incident_id: id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const row = found(await incidentById(sql, organisation.id, id), 'incident_not_found');
  const window = windowOf(effectDays, now);
  const [evidence, { samples, whole }, told, notes, share, [history]] = await Promise.all([
    incidentEvidence(sql, id),
    samplesOf(sql, organisation.id, id),
    toldOf(sql, organisation.id, id),
    notesOf(sql, organisation.id, id),
    shareOf(sql, organisation.id, id),
    monitorHistories(sql, organisation.id, [row.monitor_id], window),
  ]);
  const of = found(history, 'incident_not_found');
  const [with_, without] = [uptimeOf(of, window), uptimeWithout(of, window, id)];
  return {
    ...incidentOut(row, now),
    checks: evidence.map(({ cause, at, phases, evidence: saw, ...rest }) => ({
      ...rest,
      at: at.toISOString(),
      cause: cause === null ? null : causeSentence(cause),
      cause_class: cause?.class ?? null,
      phases: phases === null ? null : { ...phases },
      evidence: record(saw),
    })),
    samples: samples.map((sample) => ({ ...sample, at: new Date(sample.at).toISOString() })),
    samples_complete: whole,
    told: told.map(({ due_at, settled_at, ...rest }) => ({
      ...rest,
      due_at: due_at?.toISOString() ?? null,
      settled_at: settled_at?.toISOString() ?? null,
    })),
    notes: notes.map(({ id: note, written_by: by, written_at, text }) => ({ id: note, by, at: written_at.toISOString(), text })),
    share: share === undefined ? null : { by: share.shared_by, at: share.shared_at.toISOString() },
    effect: {
      days: effectDays,
      down_seconds: with_.down_seconds - without.down_seconds,
      percent: with_.percent,
      percent_without: without.percent,
    },
  };
};
