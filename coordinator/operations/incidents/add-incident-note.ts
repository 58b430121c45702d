import type { addIncidentNote as operation } from '../../../shared/api/inner/inner-incidents.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { storable } from '../../domain/given-names.ts';
import { countNotes, insertNote } from '../../store/store-incident-notes.ts';
import { incidentById } from '../../store/store-incidents-read.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

const longest = 5_000;
const mostNotes = 200;

export const addIncidentNote = async (
  { sql, organisation, caller, now }: InOrganisation,
  { incident_id: incident, text: given }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  found(await incidentById(sql, organisation.id, incident), 'incident_not_found');
  const text = given.trim();
  if (text === '' || text.length > longest || !storable(text))
    throw new Refusal('note_invalid', `text: write 1 to ${longest} characters, without NUL or broken ones.`);
  if ((await countNotes(sql, incident)) >= mostNotes)
    throw new Refusal('note_invalid', `text: an incident has at most ${mostNotes} notes.`);
  const id = newId();
  await insertNote(sql, { ...{ id, incident, text }, organisation: organisation.id, user: caller.user, at: new Date(now) });
  return { id };
};
