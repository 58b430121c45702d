import type {
  acknowledgeByLink as acknowledging,
  confirmChannel as confirming,
  unsubscribe as ending,
  showAcknowledgement as showing,
  showUnsubscribing as showingEnd,
  showConfirmation as showingQuestion,
} from '../../../shared/api/inner/inner-alert-links.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { AlertLinkFor } from '../../access/access-alert-links.ts';
import { writeAcknowledgement } from '../../store/store-acknowledgements.ts';
import { askedMailbox, suppress, verifyChannel } from '../../store/store-channels.ts';
import { ownersOf } from '../../store/store-last-resorts.ts';
import { postMails } from '../../store/store-mails.ts';
import { type LinkedMessage, messageOfLink } from '../../store/store-messages-read.ts';
import type { Answer, ByVisitor } from '../operation-context.ts';
import { deadLink } from '../operation-dead-link.ts';

/** Whoever has a message may do what its links say (rule 34). */

const messageOf = async ({ sql, with: { channels } }: ByVisitor, what: AlertLinkFor, secret: string): Promise<LinkedMessage> => {
  const id = await channels.links.read(what, secret);
  const message = id === undefined ? undefined : await messageOfLink(sql, id);
  if (!message) throw deadLink();
  return message;
};

export const showAcknowledgement = async (context: ByVisitor, { secret }: InputOf<typeof showing>): Answer<OutputOf<typeof showing>> => {
  const { organisation, channel, sentence, open, acknowledged_as } = await messageOf(context, 'acknowledge', secret);
  return { organisation, channel, sentence, open: open > 0, acknowledged_by: acknowledged_as };
};

export const acknowledgeByLink = async (
  context: ByVisitor,
  { secret }: InputOf<typeof acknowledging>,
): Answer<OutputOf<typeof acknowledging>> => {
  const { organisation_id: organisation, channel, incidents } = await messageOf(context, 'acknowledge', secret);
  context.note({ organisation });
  const as = `somebody with the link sent to “${channel}”`;
  return { incidents: await writeAcknowledgement(context.sql, { incidents, organisation, user: null, as, now: context.now }) };
};

export const showConfirmation = async (
  { sql, now, with: { accountSecrets } }: ByVisitor,
  { secret }: InputOf<typeof showingQuestion>,
): Answer<OutputOf<typeof showingQuestion>> => {
  const asked = await askedMailbox(sql, await accountSecrets.fingerprint('channel', secret), new Date(now));
  if (!asked) throw deadLink();
  return asked;
};

export const confirmChannel = async (
  { sql, now, note, with: { accountSecrets } }: ByVisitor,
  { secret }: InputOf<typeof confirming>,
): Answer<OutputOf<typeof confirming>> => {
  const channel = await verifyChannel(sql, await accountSecrets.fingerprint('channel', secret), new Date(now));
  if (!channel) throw deadLink();
  note({ organisation: channel.organisation_id });
  return { name: channel.name };
};

export const showUnsubscribing = async (
  context: ByVisitor,
  { secret }: InputOf<typeof showingEnd>,
): Answer<OutputOf<typeof showingEnd>> => {
  const { organisation, address } = await messageOf(context, 'unsubscribe', secret);
  if (address === null) throw deadLink();
  return { organisation, address };
};

/** For that address alone; owners hear of it, because alerts may now reach nobody. */
export const unsubscribe = async (context: ByVisitor, { secret }: InputOf<typeof ending>): Answer<OutputOf<typeof ending>> => {
  const { sql, now, note, with: instruments } = context;
  const { organisation_id: organisation, organisation: name, address } = await messageOf(context, 'unsubscribe', secret);
  if (address === null) throw deadLink();
  note({ organisation });
  await suppress(sql, organisation, address, new Date(now));
  if (instruments.door.mail) {
    const owners = (await ownersOf(sql, [organisation])).get(organisation) ?? [];
    const about = { organisation: name, address };
    await postMails(
      sql,
      owners.map((recipient) => ({ kind: 'unsubscribed', recipient, about, at: new Date(now) }) as const),
    );
  }
  return { address };
};
