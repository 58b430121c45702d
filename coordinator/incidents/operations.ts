import * as api from '../../shared/api/incidents.ts';
import type { InputOf } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { storable } from '../../shared/base/names.ts';
import { causeSentence } from '../../shared/checks/causes.ts';
import type { Json } from '../../shared/checks/result.ts';
import { postMail } from '../account-mail/queries.ts';
import { causeById } from '../causes/queries.ts';
import { windowOf } from '../core/uptime.ts';
import { handle } from '../gate/bind.ts';
import { type InOrganisation, notFound, orNotFound } from '../gate/context.ts';
import { afterAll, pageOf } from '../gate/cursors.ts';
import { requireMonitors } from '../gate/records.ts';
import { uptimeOf, uptimeWithout } from '../monitors/status.ts';
import { monitorHistories } from '../monitors/status-queries.ts';
import { memberByEmail, ownName } from '../people/queries.ts';
import { removeShare, shareOf, writeShare } from '../shares/links.ts';
import * as contract from './contract.ts';
import { foldedIncidents, incidentChoices, incidentPage } from './list-queries.ts';
import {
  acknowledgementOf,
  countNotes,
  type IncidentRow,
  incidentById,
  incidentEvidence,
  insertNote,
  writePostMortem as insertPostMortem,
  notesOf,
  notificationsOf,
  ownersOf,
  type ProbePlace,
  postMortemOf,
  removePostMortem,
  writeAcknowledgement,
  writeHandBack,
} from './queries.ts';
import { samplesOf } from './sample-queries.ts';
import { sidesFrom } from './writes.ts';

/** The first acknowledgement counts (rule 34). */
export const acknowledgeIncident = handle(api.acknowledgeIncident)(
  async (context, { incident_id: id }) => {
    const { sql, organisation, caller, now } = context;
    orNotFound(await incidentById(sql, organisation.id, id), 'incident_not_found');
    await writeAcknowledgement(sql, {
      incidents: [id],
      organisation: organisation.id,
      user: caller.user,
      as: await nameOf(context),
      now,
    });
    return acknowledgementJson(context, id);
  },
);

async function nameOf({ sql, caller }: InOrganisation): Promise<string> {
  return caller.user === null ? 'the operator' : ((await ownName(sql, caller.user)) ?? 'a member');
}

/** The present owner. @throws Refusal when it has none, because it is over or unconfirmed. */
async function acknowledgementJson({ sql }: InOrganisation, incident: string) {
  const acknowledged = await acknowledgementOf(sql, incident);
  if (!acknowledged)
    throw new Refusal(
      'incident_over',
      'Only an incident that is confirmed and still open can be acknowledged.',
    );
  return { incident, ...acknowledged };
}

/** In place of whoever has it. */
export const assignIncident = handle(api.assignIncident)(
  async (context, { incident_id: id, email }) => {
    const { sql, organisation, caller, now } = context;
    const incident = orNotFound(await incidentById(sql, organisation.id, id), 'incident_not_found');
    const member = orNotFound(
      await memberByEmail(sql, organisation.id, email.trim()),
      'member_not_found',
    );
    if (incident.resolved_at !== null || incident.confirmed_at === null)
      throw new Refusal(
        'incident_over',
        'Only an incident that is confirmed and still open can be assigned.',
      );
    const by = await nameOf(context);
    const assigned = await writeAcknowledgement(sql, {
      incidents: [id],
      organisation: organisation.id,
      user: member.user_id,
      as: (await ownName(sql, member.user_id)) ?? member.email,
      assignedBy: by,
      now,
    });
    // No channel may reach them, and nobody else looks after it from now on.
    if (assigned.length > 0 && member.user_id !== caller.user && context.with.door.mail)
      await postMail(sql, {
        kind: 'assigned',
        recipient: member.email,
        about: { incident: id, name: incident.monitor_name, by },
        at: now,
      });
    return acknowledgementJson(context, id);
  },
);

export const unacknowledgeIncident = handle(api.unacknowledgeIncident)(
  async (context, { incident_id: incident }) => {
    const { sql, organisation, now } = context;
    const row = orNotFound(
      await incidentById(sql, organisation.id, incident),
      'incident_not_found',
    );
    if (row.resolved_at !== null)
      throw new Refusal('incident_over', 'Only an incident that is still open can be handed back.');
    await writeHandBack(sql, {
      incident,
      organisation: organisation.id,
      by: await nameOf(context),
      now,
    });
    return getIncident(context, { incident_id: incident });
  },
);

const maxNotes = 200;

export const addIncidentNote = handle(api.addIncidentNote)(
  async ({ sql, organisation, caller, now }, { incident_id: incident, text: given }) => {
    orNotFound(await incidentById(sql, organisation.id, incident), 'incident_not_found');
    const text = given.trim();
    if (text === '' || text.length > api.longestNote || !storable(text))
      throw new Refusal('note_invalid', {
        text: `write 1 to ${api.longestNote} characters, without NUL or broken ones.`,
      });
    if ((await countNotes(sql, incident)) >= maxNotes)
      throw new Refusal('note_invalid', { text: `an incident has at most ${maxNotes} notes.` });
    const note = await insertNote(sql, {
      id: newId(),
      incident,
      text,
      organisation: organisation.id,
      user: caller.user,
      at: now,
    });
    return orNotFound(note, 'incident_not_found');
  },
);

export const writePostMortem = handle(api.writePostMortem)(
  async ({ sql, organisation, caller, now }, { incident_id: incident, text: given, published }) => {
    orNotFound(await incidentById(sql, organisation.id, incident), 'incident_not_found');
    const text = given.trim();
    if (text === '') {
      await removePostMortem(sql, organisation.id, incident);
      return { post_mortem: null };
    }
    if (text.length > api.longestPostMortem || !storable(text))
      throw new Refusal('note_invalid', {
        text: `write at most ${api.longestPostMortem} characters, without NUL or half a character.`,
      });
    await insertPostMortem(sql, {
      incident,
      text,
      published,
      organisation: organisation.id,
      user: caller.user,
      at: now,
    });
    return { post_mortem: (await postMortemOf(sql, organisation.id, incident)) ?? null };
  },
);

/** For the filters of the list. */
export const listIncidentChoices = handle(contract.listIncidentChoices)(
  ({ sql, organisation, now }, { days }) =>
    incidentChoices(sql, organisation.id, windowOf(days, now).from),
);

/**
 * An incident as answers show it now; its cause is a sentence of our own list, never text of the
 * target.
 */
export function incidentJson(row: IncidentRow, now: number) {
  return {
    id: row.id,
    monitor: row.monitor_id,
    monitor_name: row.monitor_name,
    cause: row.cause === null ? null : causeSentence(row.cause),
    started_at: row.started_at,
    confirmed_at: row.confirmed_at,
    resolved_at: row.resolved_at,
    open: row.resolved_at === null,
    seen_from: probeRef(row.seen_probe, row.seen_continent, row.seen_in),
    confirmed_from: probeRef(row.confirmed_probe, row.confirmed_continent, row.confirmed_in),
    note: row.note,
    scope: row.scope,
    layer: row.layer,
    acknowledged_at: row.acknowledged_at,
    acknowledged_by: row.acknowledged_as,
    continents: row.resolved_at === null ? row.continents : null,
    sides: sidesFrom(row.sides, row.confirmed_at !== null),
    cause_id: row.cause_id,
    // If our clock is behind a probe's, the outage still has no negative length.
    duration_s: Math.max(0, (row.resolved_at ?? now) - row.started_at) / 1_000,
  };
}

function probeRef(name: string | null, continent: string | null, at: ProbePlace | null) {
  return name === null || continent === null
    ? null
    : {
        name,
        continent,
        region: at?.region ?? null,
        place: at?.place ?? null,
        origin_as: at?.origin_as ?? null,
      };
}

/** The effect covers as many days as a monitor's figures, back from the end of the incident. */
const effectDays = 30;

/** With its evidence, which came from the target and is only for members. */
export const getIncidentEvidence = handle(api.getIncidentEvidence)(
  async ({ sql, organisation, now, with: { results } }, { incident_id: id }) => {
    const row = orNotFound(await incidentById(sql, organisation.id, id), 'incident_not_found');
    // What came after the end of an incident is not its effect.
    const window = windowOf(effectDays, row.resolved_at ?? now);
    const [
      evidence,
      { samples, whole },
      notifications,
      notes,
      owners,
      post_mortem,
      share,
      [history],
    ] = await Promise.all([
      incidentEvidence(sql, id),
      samplesOf(sql, results, organisation.id, id),
      notificationsOf(sql, organisation.id, id),
      notesOf(sql, organisation.id, id),
      ownersOf(sql, organisation.id, id),
      postMortemOf(sql, organisation.id, id),
      shareOf(sql, organisation.id, id),
      monitorHistories(sql, results, organisation.id, [row.monitor_id], window),
    ]);
    const of = orNotFound(history, 'incident_not_found');
    const [with_, without] = [uptimeOf(of, window), uptimeWithout(of, window, id)];
    return {
      ...incidentJson(row, now),
      checks: evidence.map(({ cause, at, phases, evidence: saw, ...rest }) => ({
        ...rest,
        at,
        cause: cause === null ? null : causeSentence(cause),
        cause_class: cause?.class ?? null,
        phases,
        evidence: record(saw),
      })),
      samples,
      samples_complete: whole,
      notifications,
      notes,
      owners,
      post_mortem: post_mortem ?? null,
      share: share ?? null,
      effect: {
        days: effectDays,
        window_s: Math.max(0, window.to - Math.max(window.from, of.created_at)) / 1_000,
        down_seconds: with_.down_seconds - without.down_seconds,
        percent: with_.percent,
        percent_without: without.percent,
      },
    };
  },
);

function record(json: Json | null) {
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? { ...json } : null;
}

export const getIncident = handle(api.getIncident)(
  async ({ sql, organisation, now }, { incident_id }) =>
    incidentJson(
      orNotFound(await incidentById(sql, organisation.id, incident_id), 'incident_not_found'),
      now,
    ),
);

/** Newest first; open ones whatever `days` says, the others when they touch the window. */
export const listIncidents = handle(api.listIncidents)(async (context, input) => {
  const {
    sql,
    organisation,
    now,
    with: { cursors },
  } = context;
  const { filter, names } = await filterOf(context, input);
  return pageOf(
    cursors,
    ['incidents', ...names],
    input,
    (from, limit) => incidentPage(sql, organisation.id, filter, from ?? afterAll, limit),
    (row) => incidentJson(row, now),
  );
});

type ListInput = Omit<InputOf<typeof api.listIncidents>, 'limit' | 'cursor'>;

/** The filter of a list, and the names that its cursors are bound to. */
async function filterOf({ sql, organisation, now }: InOrganisation, input: ListInput) {
  const { state, monitor, cause, layer, acknowledged, acknowledged_by, days } = input;
  if (monitor !== null) await requireMonitors(sql, organisation.id, [monitor]);
  if (cause !== null) orNotFound(await causeById(sql, organisation.id, cause), 'cause_not_found');
  const since = windowOf(days, now).from;
  return {
    filter: { state, monitor, cause, layer, acknowledged, acknowledged_by, since },
    names: [organisation.id, state, monitor, cause, layer, acknowledged, acknowledged_by, days],
  };
}

/** A page of few rows may have a next one: each is read from this many incidents at most. */
export const listFoldedIncidents = handle(contract.listFoldedIncidents)(async (context, input) => {
  const {
    sql,
    organisation,
    now,
    with: { cursors },
  } = context;
  const { filter, names } = await filterOf(context, {
    ...input,
    state: 'resolved',
    monitor: null,
    cause: null,
  });
  const list = ['folded incidents', ...names];
  const { limit, cursor } = input;
  const before = cursor === null ? afterAll : (await cursors.read(list, cursor)).key;
  const rows = await foldedIncidents(
    sql,
    organisation.id,
    { ...filter, recentFrom: now - contract.flappingMs },
    before,
    limit + 1,
  );
  const page = rows.slice(0, limit);
  const end = (rows.length > limit ? page : rows).at(-1);
  const next = rows.length > limit ? end?.key : end?.read_to;
  return {
    items: page.map((row) => ({ ...incidentJson(row, now), times: row.times, recent: row.recent })),
    next_cursor: next == null ? null : await cursors.make(list, { key: next, place: null }),
  };
});

/** The link holds the only copy of its secret. */
export const shareIncident = handle(api.shareIncident)(
  async ({ sql, organisation, caller, now, with: { baseUrl } }, { incident_id: incident }) => {
    orNotFound(await incidentById(sql, organisation.id, incident), 'incident_not_found');
    const { secret } = await writeShare(sql, {
      incident,
      organisation: organisation.id,
      user: caller.user,
      at: now,
    });
    return { link: `${baseUrl()}/shared/incidents/${secret}` };
  },
);

export const withdrawIncidentShare = handle(api.withdrawIncidentShare)(
  async ({ sql, organisation }, { incident_id: incident }) => {
    if (!(await removeShare(sql, organisation.id, { incident }))) throw notFound('share_not_found');
  },
);
