import type { PageLanguage, PostKind } from '../model.ts';
import type { DayState, PercentDays, PublicState } from './snapshot.ts';

/**
 * All words of a public page in one language. Names and texts of people stay as they were written.
 */
export type Words = {
  /** The language's own name for itself. */
  readonly itself: string;
  readonly down: (names: string, count: number, of: number) => string;
  readonly maintenanceNow: (names: string) => string;
  readonly allUp: string;
  readonly pending: string;
  readonly empty: string;
  readonly sinceFor: (at: string, duration: string) => string;
  readonly until: (at: string) => string;
  readonly states: Readonly<Record<PublicState, string>>;
  /** Of a day in the bars: `2 days with an outage`. */
  readonly dayCounts: Readonly<Record<Exclude<DayState, 'none'>, (days: number) => string>>;
  readonly barsOf: (days: number) => string;
  readonly legend: Readonly<Record<Exclude<DayState, 'none'>, string>>;
  readonly eachBar: string;
  readonly today: string;
  readonly uptimeOver: (days: PercentDays) => string;
  readonly noFigure: string;
  readonly posts: Readonly<Record<PostKind, string>>;
  readonly current: string;
  readonly incident: (names: string) => string;
  readonly incidentOver: (duration: string) => string;
  readonly lasting: string;
  readonly maintenance: string;
  readonly running: string;
  readonly coming: string;
  readonly fromTo: (from: string, to: string) => string;
  readonly past: string;
  readonly recent: string;
  readonly noneRecent: string;
  readonly noneThen: string;
  readonly earlier: string;
  readonly later: string;
  readonly allPast: string;
  readonly back: string;
  readonly updates: string;
  readonly byMail: string;
  readonly mailLabel: string;
  readonly mailSubmit: string;
  readonly mailNote: string;
  readonly feeds: string;
  readonly calendar: string;
  /** Links to the service record of the installation. */
  readonly aboutUs: string;
  readonly measured: string;
  readonly measuredText: readonly string[];
  readonly language: string;
  readonly timesIn: (zone: string) => string;
  readonly asOf: (at: string) => string;
  readonly stale: (at: string) => string;
  readonly day: string;
  readonly outage: string;
  readonly noTrouble: string;
  readonly service: string;
  readonly gone: string;
  readonly goneText: string;
  readonly away: string;
  readonly awayText: string;
  readonly locked: string;
  readonly lockedByLink: string;
  readonly password: string;
  readonly enter: string;
  readonly wrong: string;
  readonly tooMany: string;
  /** For subscribing: after asking, before and after confirming, before and after leaving. */
  readonly subscribing: Readonly<
    Record<
      | 'asked'
      | 'askedText'
      | 'confirm'
      | 'confirmButton'
      | 'confirmed'
      | 'dead'
      | 'deadText'
      | 'leave'
      | 'leaveButton'
      | 'left'
      | 'badAddress'
      | 'often',
      string
    >
  >;
  readonly badge: { readonly status: string; readonly uptime: string; readonly response: string };
};

const days = (count: number): string => (count === 1 ? '1 day' : `${count} days`);

export const english: Words = {
  itself: 'English',
  down: (names, count, of) =>
    count <= 3
      ? `${names} ${count === 1 ? 'is' : 'are'} down.`
      : `${count} of ${of} services are down.`,
  maintenanceNow: (names) => `Maintenance is running: ${names}.`,
  allUp: 'Everything is up.',
  pending: 'Nothing has been measured yet.',
  empty: 'Nothing is published here yet.',
  sinceFor: (at, duration) => `Since ${at}, for ${duration}.`,
  until: (at) => `Until ${at}.`,
  states: {
    up: 'Up',
    down: 'Down',
    maintenance: 'Maintenance',
    paused: 'Paused',
    pending: 'Not measured',
  },
  dayCounts: {
    down: (count) => `an outage on ${days(count)}`,
    maintenance: (count) => `maintenance on ${days(count)}`,
    unknown: (count) => `not measured on ${days(count)}`,
    up: (count) => `up on ${days(count)}`,
  },
  barsOf: (count) => `The last ${days(count)}`,
  legend: { up: 'up', down: 'outage', maintenance: 'maintenance', unknown: 'not measured' },
  eachBar: 'Each bar is a day:',
  today: 'today',
  uptimeOver: (count) => `Uptime in ${days(count)}`,
  noFigure: 'no figure yet',
  posts: {
    investigating: 'Investigating',
    identified: 'Identified',
    monitoring: 'Monitoring',
    resolved: 'Resolved',
  },
  current: 'What is happening',
  incident: (names) => `Outage: ${names}`,
  incidentOver: (duration) => `Over, after ${duration}.`,
  lasting: 'It lasts.',
  maintenance: 'Maintenance',
  running: 'running',
  coming: 'planned',
  fromTo: (from, to) => `${from} to ${to}`,
  past: 'Past incidents',
  recent: 'The last 14 days',
  noneRecent: 'No outage in the last 14 days.',
  noneThen: 'No outage in this month.',
  earlier: 'Earlier',
  later: 'Later',
  allPast: 'All past incidents',
  back: 'All services',
  updates: 'Get updates',
  byMail: 'By e-mail',
  mailLabel: 'Your e-mail address',
  mailSubmit: 'Send me updates',
  mailNote: 'You get one mail first, to confirm. Every mail has a link that ends them.',
  feeds: 'Feeds',
  calendar: 'Maintenance as a calendar',
  aboutUs: 'How well this service does',
  measured: 'How this is measured',
  measuredText: [
    'Every service here is checked around the clock from several continents.',
    'A service is called down only when a second continent sees the fault, too. One bad line alone is no outage.',
    'Uptime is the time that a service was up, divided by the time that it was up or down. Maintenance, pauses and time in which nothing was measured count for neither.',
    'Figures are rounded down, so that 100 % means that there was no outage at all.',
    'What you see is at most ten seconds old, unless the page says otherwise.',
  ],
  language: 'Language',
  timesIn: (zone) => `Times in ${zone}`,
  asOf: (at) => `As of ${at}`,
  stale: (at) => `Newer figures cannot be read right now. You see what was known at ${at}.`,
  day: 'Day',
  outage: 'Outage',
  noTrouble: 'No outage and no maintenance in the last 90 days.',
  service: 'Service',
  gone: 'There is no such status page.',
  goneText: 'The address is wrong, or the page was taken down.',
  away: 'The status cannot be read right now.',
  awayText: 'That says nothing about the services. Please try again in a minute.',
  locked: 'This status page is private.',
  lockedByLink: 'It opens with the link that you were given.',
  password: 'Password',
  enter: 'Open',
  wrong: 'That is not the password.',
  tooMany: 'Too many tries; wait a quarter of an hour, then try again.',
  subscribing: {
    asked: 'Look into your mailbox.',
    askedText:
      'If that address gets no updates yet, a mail is on its way. Its link confirms that the address is yours.',
    confirm: 'Get updates by e-mail?',
    confirmButton: 'Yes, send them',
    confirmed: 'You get updates by e-mail now.',
    dead: 'This link is no longer good.',
    deadText: 'Ask for a new one on the status page.',
    leave: 'No more updates by e-mail?',
    leaveButton: 'End them',
    left: 'You get no more mails of this page.',
    badAddress: 'That is no e-mail address.',
    often: 'Too many tries from here; wait a quarter of an hour.',
  },
  badge: { status: 'status', uptime: 'uptime', response: 'response' },
};

const frenchDays = (count: number): string => (count <= 1 ? `${count} jour` : `${count} jours`);

export const french: Words = {
  itself: 'Français',
  down: (names, count, of) =>
    count <= 3 ? `${names} : en panne.` : `${count} services sur ${of} sont en panne.`,
  maintenanceNow: (names) => `Maintenance en cours : ${names}.`,
  allUp: 'Tout fonctionne.',
  pending: 'Rien n’a encore été mesuré.',
  empty: 'Rien n’est encore publié ici.',
  sinceFor: (at, duration) => `Depuis ${at}, soit ${duration}.`,
  until: (at) => `Jusqu’à ${at}.`,
  states: {
    up: 'En service',
    down: 'En panne',
    maintenance: 'Maintenance',
    paused: 'En pause',
    pending: 'Non mesuré',
  },
  dayCounts: {
    down: (count) => `une panne sur ${frenchDays(count)}`,
    maintenance: (count) => `maintenance sur ${frenchDays(count)}`,
    unknown: (count) => `non mesuré sur ${frenchDays(count)}`,
    up: (count) => `en service sur ${frenchDays(count)}`,
  },
  barsOf: (count) => (count === 1 ? 'Le dernier jour' : `Les ${count} derniers jours`),
  legend: { up: 'en service', down: 'panne', maintenance: 'maintenance', unknown: 'non mesuré' },
  eachBar: 'Chaque barre est un jour :',
  today: 'aujourd’hui',
  uptimeOver: (count) => `Disponibilité sur ${frenchDays(count)}`,
  noFigure: 'pas encore de chiffre',
  posts: {
    investigating: 'En cours d’analyse',
    identified: 'Cause trouvée',
    monitoring: 'Sous surveillance',
    resolved: 'Résolu',
  },
  current: 'En ce moment',
  incident: (names) => `Panne : ${names}`,
  incidentOver: (duration) => `Terminé, après ${duration}.`,
  lasting: 'En cours.',
  maintenance: 'Maintenance',
  running: 'en cours',
  coming: 'prévue',
  fromTo: (from, to) => `${from} – ${to}`,
  past: 'Pannes passées',
  recent: 'Les 14 derniers jours',
  noneRecent: 'Aucune panne ces 14 derniers jours.',
  noneThen: 'Aucune panne ce mois-là.',
  earlier: 'Plus tôt',
  later: 'Plus tard',
  allPast: 'Toutes les pannes passées',
  back: 'Tous les services',
  updates: 'Être informé',
  byMail: 'Par e-mail',
  mailLabel: 'Votre adresse e-mail',
  mailSubmit: 'M’informer',
  mailNote:
    'Vous recevez d’abord un e-mail de confirmation. Chaque e-mail contient un lien pour se désabonner.',
  feeds: 'Flux',
  calendar: 'Maintenance en calendrier',
  aboutUs: 'La fiabilité de ce service',
  measured: 'Comment c’est mesuré',
  measuredText: [
    'Chaque service est vérifié jour et nuit depuis plusieurs continents.',
    'Un service n’est dit en panne que si un deuxième continent voit aussi le défaut. Une mauvaise ligne seule n’est pas une panne.',
    'La disponibilité est le temps en service, divisé par le temps en service ou en panne. La maintenance, les pauses et le temps non mesuré ne comptent pas.',
    'Les chiffres sont arrondis vers le bas : 100 % veut dire aucune panne.',
    'Ce que vous voyez a au plus dix secondes, sauf si la page dit autre chose.',
  ],
  language: 'Langue',
  timesIn: (zone) => `Heures : ${zone}`,
  asOf: (at) => `État : ${at}`,
  stale: (at) =>
    `Des chiffres plus récents ne peuvent pas être lus pour le moment. Vous voyez l’état de ${at}.`,
  day: 'Jour',
  outage: 'Panne',
  noTrouble: 'Aucune panne ni maintenance ces 90 derniers jours.',
  service: 'Service',
  gone: 'Cette page d’état n’existe pas.',
  goneText: 'L’adresse est fausse, ou la page a été retirée.',
  away: 'L’état ne peut pas être lu pour le moment.',
  awayText: 'Cela ne dit rien des services. Veuillez réessayer dans une minute.',
  locked: 'Cette page d’état est privée.',
  lockedByLink: 'Elle s’ouvre avec le lien que vous avez reçu.',
  password: 'Mot de passe',
  enter: 'Ouvrir',
  wrong: 'Ce n’est pas le mot de passe.',
  tooMany: 'Trop d’essais ; attendez un quart d’heure, puis réessayez.',
  subscribing: {
    asked: 'Regardez dans votre boîte aux lettres.',
    askedText:
      'Si cette adresse n’est pas encore abonnée, un e-mail est en route. Son lien confirme que l’adresse est la vôtre.',
    confirm: 'Être informé par e-mail ?',
    confirmButton: 'Oui, envoyez-les',
    confirmed: 'Vous êtes maintenant informé par e-mail.',
    dead: 'Ce lien n’est plus valable.',
    deadText: 'Demandez-en un nouveau sur la page d’état.',
    leave: 'Ne plus être informé par e-mail ?',
    leaveButton: 'Se désabonner',
    left: 'Vous ne recevrez plus d’e-mails de cette page.',
    badAddress: 'Ce n’est pas une adresse e-mail.',
    often: 'Trop d’essais d’ici ; attendez un quart d’heure.',
  },
  badge: { status: 'état', uptime: 'disponibilité', response: 'réponse' },
};

const germanDays = (count: number): string => (count === 1 ? '1 Tag' : `${count} Tage`);
const onDays = (count: number): string => (count === 1 ? '1 Tag' : `${count} Tagen`);

export const german: Words = {
  itself: 'Deutsch',
  down: (names, count, of) =>
    count <= 3 ? `${names}: ausgefallen.` : `${count} von ${of} Diensten sind ausgefallen.`,
  maintenanceNow: (names) => `Wartung läuft: ${names}.`,
  allUp: 'Alles läuft.',
  pending: 'Noch wurde nichts gemessen.',
  empty: 'Hier ist noch nichts veröffentlicht.',
  sinceFor: (at, duration) => `Seit ${at}, bisher ${duration}.`,
  until: (at) => `Bis ${at}.`,
  states: {
    up: 'Läuft',
    down: 'Ausgefallen',
    maintenance: 'Wartung',
    paused: 'Pausiert',
    pending: 'Nicht gemessen',
  },
  dayCounts: {
    down: (count) => `ein Ausfall an ${onDays(count)}`,
    maintenance: (count) => `Wartung an ${onDays(count)}`,
    unknown: (count) => `nicht gemessen an ${onDays(count)}`,
    up: (count) => `in Betrieb an ${onDays(count)}`,
  },
  barsOf: (count) => `Die letzten ${germanDays(count)}`,
  legend: { up: 'in Betrieb', down: 'Ausfall', maintenance: 'Wartung', unknown: 'nicht gemessen' },
  eachBar: 'Jeder Balken ist ein Tag:',
  today: 'heute',
  uptimeOver: (count) => `Verfügbarkeit in ${onDays(count)}`,
  noFigure: 'noch keine Zahl',
  posts: {
    investigating: 'Wird untersucht',
    identified: 'Ursache gefunden',
    monitoring: 'Wird beobachtet',
    resolved: 'Behoben',
  },
  current: 'Was gerade geschieht',
  incident: (names) => `Ausfall: ${names}`,
  incidentOver: (duration) => `Vorbei, nach ${duration}.`,
  lasting: 'Dauert an.',
  maintenance: 'Wartung',
  running: 'läuft',
  coming: 'geplant',
  fromTo: (from, to) => `${from} bis ${to}`,
  past: 'Vergangene Ausfälle',
  recent: 'Die letzten 14 Tage',
  noneRecent: 'Kein Ausfall in den letzten 14 Tagen.',
  noneThen: 'Kein Ausfall in diesem Monat.',
  earlier: 'Früher',
  later: 'Später',
  allPast: 'Alle vergangenen Ausfälle',
  back: 'Alle Dienste',
  updates: 'Benachrichtigen',
  byMail: 'Per E-Mail',
  mailLabel: 'Ihre E-Mail-Adresse',
  mailSubmit: 'Auf dem Laufenden bleiben',
  mailNote:
    'Sie bekommen zuerst eine E-Mail zur Bestätigung. Jede E-Mail hat einen Link zum Abbestellen.',
  feeds: 'Feeds',
  calendar: 'Wartung als Kalender',
  aboutUs: 'Wie gut dieser Dienst arbeitet',
  measured: 'Wie gemessen wird',
  measuredText: [
    'Jeder Dienst hier wird rund um die Uhr von mehreren Kontinenten aus geprüft.',
    'Als ausgefallen gilt ein Dienst erst, wenn auch ein zweiter Kontinent den Fehler sieht. Eine schlechte Leitung allein ist kein Ausfall.',
    'Die Verfügbarkeit ist die Zeit in Betrieb, geteilt durch die Zeit in Betrieb oder im Ausfall. Wartung, Pausen und nicht gemessene Zeit zählen nicht.',
    'Zahlen sind abgerundet: 100 % heißt, dass es keinen Ausfall gab.',
    'Was Sie sehen, ist höchstens zehn Sekunden alt, wenn die Seite nichts anderes sagt.',
  ],
  language: 'Sprache',
  timesIn: (zone) => `Zeiten in ${zone}`,
  asOf: (at) => `Stand: ${at}`,
  stale: (at) => `Neuere Zahlen lassen sich gerade nicht lesen. Sie sehen den Stand von ${at}.`,
  day: 'Tag',
  outage: 'Ausfall',
  noTrouble: 'Kein Ausfall und keine Wartung in den letzten 90 Tagen.',
  service: 'Dienst',
  gone: 'Diese Statusseite gibt es nicht.',
  goneText: 'Die Adresse stimmt nicht, oder die Seite wurde abgeschaltet.',
  away: 'Der Status lässt sich gerade nicht lesen.',
  awayText: 'Das sagt nichts über die Dienste. Bitte versuchen Sie es in einer Minute noch einmal.',
  locked: 'Diese Statusseite ist nicht öffentlich.',
  lockedByLink: 'Sie öffnet sich mit dem Link, den Sie bekommen haben.',
  password: 'Passwort',
  enter: 'Öffnen',
  wrong: 'Das ist nicht das Passwort.',
  tooMany:
    'Zu viele Versuche; warten Sie eine Viertelstunde und versuchen Sie es dann noch einmal.',
  subscribing: {
    asked: 'Schauen Sie in Ihr Postfach.',
    askedText:
      'Wenn diese Adresse noch keine Nachrichten bekommt, ist eine E-Mail unterwegs. Ihr Link bestätigt, dass die Adresse Ihnen gehört.',
    confirm: 'Nachrichten per E-Mail bekommen?',
    confirmButton: 'Ja, bitte senden',
    confirmed: 'Sie bekommen jetzt Nachrichten per E-Mail.',
    dead: 'Dieser Link gilt nicht mehr.',
    deadText: 'Auf der Statusseite bekommen Sie einen neuen.',
    leave: 'Keine Nachrichten mehr per E-Mail?',
    leaveButton: 'Abbestellen',
    left: 'Von dieser Seite kommen keine E-Mails mehr.',
    badAddress: 'Das ist keine E-Mail-Adresse.',
    often: 'Zu viele Versuche von hier; warten Sie eine Viertelstunde.',
  },
  badge: { status: 'Status', uptime: 'Verfügbarkeit', response: 'Antwortzeit' },
};

const spanishDays = (count: number): string => (count === 1 ? '1 día' : `${count} días`);

export const spanish: Words = {
  itself: 'Español',
  down: (names, count, of) =>
    count <= 3 ? `${names}: sin servicio.` : `${count} de ${of} servicios no funcionan.`,
  maintenanceNow: (names) => `Mantenimiento en curso: ${names}.`,
  allUp: 'Todo funciona.',
  pending: 'Todavía no se ha medido nada.',
  empty: 'Todavía no hay nada publicado aquí.',
  sinceFor: (at, duration) => `Desde ${at}, hace ${duration}.`,
  until: (at) => `Hasta ${at}.`,
  states: {
    up: 'En servicio',
    down: 'Sin servicio',
    maintenance: 'Mantenimiento',
    paused: 'En pausa',
    pending: 'Sin medir',
  },
  dayCounts: {
    down: (count) => `una caída en ${spanishDays(count)}`,
    maintenance: (count) => `mantenimiento en ${spanishDays(count)}`,
    unknown: (count) => `sin medir en ${spanishDays(count)}`,
    up: (count) => `en servicio en ${spanishDays(count)}`,
  },
  barsOf: (count) => (count === 1 ? 'El último día' : `Los últimos ${count} días`),
  legend: { up: 'en servicio', down: 'caída', maintenance: 'mantenimiento', unknown: 'sin medir' },
  eachBar: 'Cada barra es un día:',
  today: 'hoy',
  uptimeOver: (count) => `Disponibilidad en ${spanishDays(count)}`,
  noFigure: 'todavía sin cifra',
  posts: {
    investigating: 'En investigación',
    identified: 'Causa encontrada',
    monitoring: 'En observación',
    resolved: 'Resuelto',
  },
  current: 'Qué está pasando',
  incident: (names) => `Caída: ${names}`,
  incidentOver: (duration) => `Terminó, tras ${duration}.`,
  lasting: 'Continúa.',
  maintenance: 'Mantenimiento',
  running: 'en curso',
  coming: 'previsto',
  fromTo: (from, to) => `${from} – ${to}`,
  past: 'Caídas pasadas',
  recent: 'Los últimos 14 días',
  noneRecent: 'Ninguna caída en los últimos 14 días.',
  noneThen: 'Ninguna caída en este mes.',
  earlier: 'Antes',
  later: 'Después',
  allPast: 'Todas las caídas pasadas',
  back: 'Todos los servicios',
  updates: 'Recibir avisos',
  byMail: 'Por correo',
  mailLabel: 'Su dirección de correo',
  mailSubmit: 'Enviarme avisos',
  mailNote:
    'Primero recibe un correo para confirmar. Cada correo tiene un enlace para darse de baja.',
  feeds: 'Fuentes',
  calendar: 'Mantenimiento como calendario',
  aboutUs: 'Cómo rinde este servicio',
  measured: 'Cómo se mide',
  measuredText: [
    'Cada servicio se comprueba día y noche desde varios continentes.',
    'Un servicio se da por caído solo cuando un segundo continente ve también el fallo. Una mala línea por sí sola no es una caída.',
    'La disponibilidad es el tiempo en servicio, dividido por el tiempo en servicio o caído. El mantenimiento, las pausas y el tiempo sin medir no cuentan.',
    'Las cifras se redondean hacia abajo: 100 % significa que no hubo ninguna caída.',
    'Lo que ve tiene como mucho diez segundos, salvo que la página diga otra cosa.',
  ],
  language: 'Idioma',
  timesIn: (zone) => `Horas en ${zone}`,
  asOf: (at) => `Estado: ${at}`,
  stale: (at) => `Ahora no se pueden leer cifras más nuevas. Ve el estado de ${at}.`,
  day: 'Día',
  outage: 'Caída',
  noTrouble: 'Ninguna caída ni mantenimiento en los últimos 90 días.',
  service: 'Servicio',
  gone: 'Esta página de estado no existe.',
  goneText: 'La dirección no es correcta, o la página fue retirada.',
  away: 'El estado no se puede leer ahora.',
  awayText: 'Eso no dice nada de los servicios. Inténtelo de nuevo en un minuto.',
  locked: 'Esta página de estado es privada.',
  lockedByLink: 'Se abre con el enlace que recibió.',
  password: 'Contraseña',
  enter: 'Abrir',
  wrong: 'Esa no es la contraseña.',
  tooMany: 'Demasiados intentos; espere un cuarto de hora e inténtelo de nuevo.',
  subscribing: {
    asked: 'Mire en su buzón.',
    askedText:
      'Si esa dirección todavía no recibe avisos, hay un correo en camino. Su enlace confirma que la dirección es suya.',
    confirm: '¿Recibir avisos por correo?',
    confirmButton: 'Sí, envíenlos',
    confirmed: 'Ahora recibe avisos por correo.',
    dead: 'Este enlace ya no vale.',
    deadText: 'Pida uno nuevo en la página de estado.',
    leave: '¿No recibir más avisos por correo?',
    leaveButton: 'Darse de baja',
    left: 'No recibirá más correos de esta página.',
    badAddress: 'Eso no es una dirección de correo.',
    often: 'Demasiados intentos desde aquí; espere un cuarto de hora.',
  },
  badge: { status: 'estado', uptime: 'disponibilidad', response: 'respuesta' },
};

export const wordsOf: Readonly<Record<PageLanguage, Words>> = {
  en: english,
  de: german,
  fr: french,
  es: spanish,
};
