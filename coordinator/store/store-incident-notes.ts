import type { Queryable } from './store-database.ts';

export type NoteRow = { readonly id: string; readonly written_by: string | null; readonly written_at: Date; readonly text: string };

export const insertNote = async (
  sql: Queryable,
  note: {
    readonly id: string;
    readonly incident: string;
    readonly organisation: string;
    readonly user: string | null;
    readonly at: Date;
    readonly text: string;
  },
): Promise<void> => {
  const { id, incident, organisation, user, at, text } = note;
  await sql`insert into incident_notes (id, incident_id, organisation_id, written_by, written_at, text)
    values (${id}, ${incident}, ${organisation}, ${user}, ${at}, ${text})`;
};

export const countNotes = async (sql: Queryable, incident: string): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`select count(*) as count from incident_notes where incident_id = ${incident}`;
  return row?.count ?? 0;
};

/** Oldest first. */
export const notesOf = (sql: Queryable, organisation: string, incident: string): Promise<NoteRow[]> =>
  sql<NoteRow[]>`
    select n.id, u.email as written_by, n.written_at, n.text from incident_notes n left join users u on u.id = n.written_by
    where n.organisation_id = ${organisation} and n.incident_id = ${incident} order by n.written_at, n.id`;
