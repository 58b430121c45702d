import { z } from 'zod';
import { newId } from '../../shared/base/crypto.ts';
import { isoText } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';

/** The subject of a mail, by its kind: enough to write it when it is sent. */
export const mailShape = z.discriminatedUnion('kind', [
  mail('sign-up', z.object({ sign_up: z.uuid() })),
  mail('invitation', z.object({ invitation: z.uuid() })),
  mail('e-mail', z.object({ verification: z.uuid() })),
  mail('e-mail-change', z.object({ verification: z.uuid() })),
  // The recipient as it was typed: whether the account exists is checked when the mail is sent.
  mail('password-reset', z.object({})),
  mail(
    'last-resort',
    z.object({ incident: z.string(), names: z.array(z.string()), count: z.number() }),
  ),
  mail('not-delivering', z.object({ channel: z.uuid(), name: z.string(), failure: z.string() })),
  mail(
    'webhook-off',
    z.object({ webhook: z.uuid(), name: z.string(), because: z.enum(['gone', 'failing']) }),
  ),
  mail('private-probe', z.object({ message: z.string() })),
  mail('channel', z.object({ channel: z.uuid() })),
  mail(
    'organisation',
    z.object({
      what: z.enum(['ends', 'kept', 'ends-soon', 'gone']),
      organisation: z.string(),
      by: z.string().nullable(),
      ends_at: z.string(),
      time_zone: z.string(),
    }),
  ),
  mail('assigned', z.object({ incident: z.uuid(), name: z.string(), by: z.string() })),
  mail('unsubscribed', z.object({ organisation: z.string(), address: z.string() })),
  // All its words but the links: they are those of the time when it was due.
  mail(
    'report',
    z.object({
      mail: z.uuid(),
      every: z.enum(['week', 'month']),
      /** The page of the report. */
      address: z.string(),
      subject: z.string(),
      counting: z.string(),
      figures: z.array(z.object({ label: z.string(), value: z.string() })),
      tables: z.array(
        z.object({
          title: z.string(),
          rows: z.array(z.object({ name: z.string(), below: z.string(), value: z.string() })),
        }),
      ),
    }),
  ),
  mail('page-opt-in', z.object({ subscriber: z.uuid() })),
  mail(
    'page-update',
    z.object({
      subscriber: z.uuid(),
      incident: z.uuid(),
      event: z.enum(['began', 'over', 'post']),
      post: z.uuid().nullable(),
    }),
  ),
  mail(
    'notice',
    z.object({
      what: z.enum(['password', 'e-mail', 'second-factor-off', 'passkey-added']),
      detail: z.string(),
    }),
  ),
]);

function mail<const Kind extends string, About extends z.ZodType>(kind: Kind, about: About) {
  return z.object({ recipient: z.string(), kind: z.literal(kind), about });
}

export type Mail = z.infer<typeof mailShape>;
type MailKind = Mail['kind'];
export type About<Kind extends MailKind> = Extract<Mail, { readonly kind: Kind }>['about'];

/** The channel of NOTIFY that announces a mail to send. */
export const mailChannel = 'mails';

export type NewMail = {
  [Kind in MailKind]: {
    readonly kind: Kind;
    readonly recipient: string;
    readonly about: About<Kind>;
    readonly at: number;
  };
}[MailKind];

/**
 * Writes outgoing mails, and wakes the sender, both with the commit of the surrounding transaction.
 */
export async function postMails(sql: Queryable, mails: readonly NewMail[]): Promise<void> {
  if (mails.length === 0) return;
  const rows = JSON.stringify(
    mails.map(({ kind, recipient, about, at }) => ({
      id: newId(),
      kind,
      recipient,
      about,
      at: isoText(at),
    })),
  );
  await sql`insert into deliveries (id, event, recipient, told, created_at, next_at)
    select id, kind, recipient, about, at, at
    from json_to_recordset(${rows}::text::json) as m (id uuid, kind text, recipient text,
      about jsonb, at timestamptz)`;
  await sql`select pg_notify(${mailChannel}, '')`;
}

export function postMail(sql: Queryable, mail: NewMail): Promise<void> {
  return postMails(sql, [mail]);
}

/** How many mails of a kind were written to a mailbox since then. */
export async function countMailsTo(
  sql: Queryable,
  kind: MailKind,
  recipient: string,
  since: number,
): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from deliveries where kind = 'mail' and event = ${kind}
      and lower(recipient) = lower(${recipient}) and created_at > ${new Date(since)}`;
  return row?.count ?? 0;
}

/** Undefined: its mails have ended, as those of a member who left. */
export async function mailboxOfReport(sql: Queryable, id: string): Promise<string | undefined> {
  const [row] = await sql<{ email: string }[]>`
    select u.email from report_mails m join users u on u.id = m.user_id where m.id = ${id}`;
  return row?.email;
}
