import { type Words as MailWords, unlinked } from '../account-mail/templates.ts';
import { wordsOf } from './public/words.ts';
import type { NotifiedIncident, SubscriberOfPage } from './subscribers.ts';

/** What subscribers of status pages are sent, in the language in which each subscribed. */

export function optInMail({ language, title, slug }: SubscriberOfPage, address: string): MailWords {
  const { or, optIn } = wordsOf[language].mail;
  return {
    language,
    or,
    subject: optIn.subject(unlinked(title, slug)),
    sentences: [optIn.sentence(title)],
    action: { label: optIn.label, address },
    because: optIn.because,
  };
}

/** What subscribers get to know, whichever way it reaches them. */
export function updateWords(
  { language, time_zone }: SubscriberOfPage,
  { name, started_at, resolved_at, kind, text }: NotifiedIncident,
): { readonly subject: string; readonly sentence: string } {
  const { mail, posts } = wordsOf[language];
  const format = new Intl.DateTimeFormat(mail.locale, {
    timeZone: time_zone,
    hourCycle: 'h23',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  });
  const at = (moment: number): string => format.format(moment);
  if (kind !== null) return { subject: `${posts[kind]}: ${name}`, sentence: text ?? '' };
  return resolved_at === null
    ? { subject: mail.began.subject(name), sentence: mail.began.sentence(name, at(started_at)) }
    : {
        subject: mail.over.subject(name),
        sentence: mail.over.sentence(name, at(started_at), at(resolved_at)),
      };
}

export function updateMail(
  of: SubscriberOfPage,
  incident: NotifiedIncident,
  { page, leave }: { readonly page: string; readonly leave: string },
): MailWords {
  const { language, title } = of;
  const { mail } = wordsOf[language];
  const { subject, sentence } = updateWords(of, incident);
  return {
    language,
    or: mail.or,
    subject: `${title}: ${subject}`,
    sentences: [sentence],
    action: { label: mail.see, address: page },
    because: mail.because(title, leave),
  };
}
