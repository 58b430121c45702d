import type { PageLanguage, PostKind } from '../domain/status-page.ts';
import type { SubscriberOfPage, ToldIncident } from '../store/store-page-subscribers.ts';
import { unlinked, type Words } from './mail-letters.ts';

/** The words of the mails to subscribers of status pages, in the language in which each subscribed. */

type Said = {
  readonly optIn: (title: string) => {
    readonly subject: string;
    readonly sentence: string;
    readonly label: string;
    readonly because: string;
  };
  readonly began: (name: string, at: string) => { readonly subject: string; readonly sentence: string };
  readonly over: (name: string, from: string, to: string) => { readonly subject: string; readonly sentence: string };
  readonly posts: Readonly<Record<PostKind, string>>;
  readonly see: string;
  readonly or: string;
  readonly because: (title: string, leave: string) => string;
  readonly locale: string;
};

const said: Readonly<Record<PageLanguage, Said>> = {
  en: {
    optIn: (title) => ({
      subject: `Updates of ${title} by e-mail?`,
      sentence: `Open this address within two days, and you are mailed what happens on ${title}.`,
      label: 'Yes, send them',
      because: 'Somebody gave this address on that page. If that was not you, do nothing: nothing more comes.',
    }),
    began: (name, at) => ({ subject: `${name} is down`, sentence: `${name} has been down since ${at}.` }),
    over: (name, from, to) => ({ subject: `${name} is up again`, sentence: `${name} is up again. It was down from ${from} to ${to}.` }),
    posts: { investigating: 'Investigating', identified: 'Identified', monitoring: 'Monitoring', resolved: 'Resolved' },
    see: 'See the status page',
    or: 'Or open this address:',
    because: (title, leave) => `You get this because you asked for updates of ${title}. To end them: ${leave}`,
    locale: 'en-GB',
  },
  de: {
    optIn: (title) => ({
      subject: `Nachrichten von ${title} per E-Mail?`,
      sentence: `Öffnen Sie diese Adresse innerhalb von zwei Tagen, und Sie erfahren per E-Mail, was auf ${title} geschieht.`,
      label: 'Ja, bitte senden',
      because: 'Jemand hat diese Adresse auf der Seite angegeben. Waren Sie das nicht, tun Sie nichts: Es kommt nichts mehr.',
    }),
    began: (name, at) => ({ subject: `${name}: ausgefallen`, sentence: `${name}: ausgefallen seit ${at}.` }),
    over: (name, from, to) => ({
      subject: `${name}: läuft wieder`,
      sentence: `${name} läuft wieder. Der Ausfall dauerte von ${from} bis ${to}.`,
    }),
    posts: { investigating: 'Wird untersucht', identified: 'Ursache gefunden', monitoring: 'Wird beobachtet', resolved: 'Behoben' },
    see: 'Zur Statusseite',
    or: 'Oder öffnen Sie diese Adresse:',
    because: (title, leave) => `Sie bekommen das, weil Sie Nachrichten von ${title} bestellt haben. Abbestellen: ${leave}`,
    locale: 'de-DE',
  },
  fr: {
    optIn: (title) => ({
      subject: `Nouvelles de ${title} par e-mail ?`,
      sentence: `Ouvrez cette adresse dans les deux jours, et vous saurez par e-mail ce qui se passe sur ${title}.`,
      label: 'Oui, envoyez-les',
      because: 'Quelqu’un a donné cette adresse sur cette page. Si ce n’était pas vous, ne faites rien : rien d’autre ne viendra.',
    }),
    began: (name, at) => ({ subject: `${name} : en panne`, sentence: `${name} : en panne depuis le ${at}.` }),
    over: (name, from, to) => ({
      subject: `${name} : de nouveau en service`,
      sentence: `${name} est de nouveau en service. La panne a duré du ${from} au ${to}.`,
    }),
    posts: { investigating: 'En cours d’analyse', identified: 'Cause trouvée', monitoring: 'Sous surveillance', resolved: 'Résolu' },
    see: 'Voir la page d’état',
    or: 'Ou ouvrez cette adresse :',
    because: (title, leave) => `Vous recevez ceci parce que vous avez demandé des nouvelles de ${title}. Pour y mettre fin : ${leave}`,
    locale: 'fr-FR',
  },
  es: {
    optIn: (title) => ({
      subject: `¿Avisos de ${title} por correo?`,
      sentence: `Abra esta dirección en dos días y sabrá por correo lo que pasa en ${title}.`,
      label: 'Sí, envíenlos',
      because: 'Alguien dio esta dirección en esa página. Si no fue usted, no haga nada: no llegará nada más.',
    }),
    began: (name, at) => ({ subject: `${name}: sin servicio`, sentence: `${name}: sin servicio desde el ${at}.` }),
    over: (name, from, to) => ({
      subject: `${name}: de nuevo en servicio`,
      sentence: `${name} está de nuevo en servicio. La caída duró del ${from} al ${to}.`,
    }),
    posts: { investigating: 'En investigación', identified: 'Causa encontrada', monitoring: 'En observación', resolved: 'Resuelto' },
    see: 'Ver la página de estado',
    or: 'O abra esta dirección:',
    because: (title, leave) => `Recibe esto porque pidió avisos de ${title}. Para darse de baja: ${leave}`,
    locale: 'es-ES',
  },
};

export const optInLetter = ({ language, title, slug }: SubscriberOfPage, address: string): Words => {
  const { sentence, label, because } = said[language].optIn(title);
  const { subject } = said[language].optIn(unlinked(title, slug));
  return { language, or: said[language].or, subject, sentences: [sentence], action: { label, address }, because };
};

export const updateLetter = (
  { language, title, time_zone }: SubscriberOfPage,
  { name, started_at, resolved_at, kind, text }: ToldIncident,
  { event, page, leave }: { readonly event: 'began' | 'over' | 'post'; readonly page: string; readonly leave: string },
): Words => {
  const { posts, see, or, because, locale, began, over } = said[language];
  const format = new Intl.DateTimeFormat(locale, {
    ...{ timeZone: time_zone, hourCycle: 'h23', day: 'numeric', month: 'long', year: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
  });
  const at = (moment: Date): string => format.format(moment);
  const { subject, sentence } =
    event === 'post' && kind !== null
      ? { subject: `${posts[kind]}: ${name}`, sentence: text ?? '' }
      : resolved_at === null
        ? began(name, at(started_at))
        : over(name, at(started_at), at(resolved_at));
  return {
    ...{ language, or, subject: `${title}: ${subject}`, sentences: [sentence] },
    ...{ action: { label: see, address: page }, because: because(title, leave) },
  };
};
