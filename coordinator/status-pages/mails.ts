import { type Words as MailWords, unlinked } from '../mail/templates.ts';
import { wordsOf } from './public/words.ts';
import type { NotifiedIncident, SubscriberOfPage } from './subscribers.ts';

/** The mails to subscribers of status pages, in the language in which each subscribed. */

export const optInMail = (
  { language, title, slug }: SubscriberOfPage,
  address: string,
): MailWords => {
  const { or, optIn } = wordsOf[language].mail;
  return {
    language,
    or,
    subject: optIn.subject(unlinked(title, slug)),
    sentences: [optIn.sentence(title)],
    action: { label: optIn.label, address },
    because: optIn.because,
  };
};

export const updateMail = (
  { language, title, time_zone }: SubscriberOfPage,
  { name, started_at, resolved_at, kind, text }: NotifiedIncident,
  { page, leave }: { readonly page: string; readonly leave: string },
): MailWords => {
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
  const at = (moment: Date): string => format.format(moment);
  const { subject, sentence } =
    kind !== null
      ? { subject: `${posts[kind]}: ${name}`, sentence: text ?? '' }
      : resolved_at === null
        ? { subject: mail.began.subject(name), sentence: mail.began.sentence(name, at(started_at)) }
        : {
            subject: mail.over.subject(name),
            sentence: mail.over.sentence(name, at(started_at), at(resolved_at)),
          };
  return {
    language,
    or: mail.or,
    subject: `${title}: ${subject}`,
    sentences: [sentence],
    action: { label: mail.see, address: page },
    because: mail.because(title, leave),
  };
};
