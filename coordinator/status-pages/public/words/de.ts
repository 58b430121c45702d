import type { Words } from './types.ts';

export const german: Words = {
  itself: 'Deutsch',
  down: (names, count, of) =>
    count <= 3 ? `${names}: ausgefallen` : `${count} von ${of} Diensten sind ausgefallen`,
  reported: (names, count, impact) => {
    if (count > 3) return `${count} Dienste sind betroffen`;
    const words = {
      degraded: 'eingeschränkt',
      partial_outage: 'teilweise ausgefallen',
      major_outage: 'weitgehend ausgefallen',
    };
    return `${names}: ${words[impact]}`;
  },
  maintenanceNow: (names) => `Wartung läuft: ${names}`,
  allUp: 'Alles läuft',
  pending: 'Noch keine Daten',
  empty: 'Hier ist noch nichts veröffentlicht',
  sinceFor: (at, duration) => `Seit ${at}, bisher ${duration}.`,
  until: (at) => `Bis ${at}.`,
  states: {
    up: 'Läuft',
    down: 'Ausgefallen',
    degraded: 'Eingeschränkt',
    partial_outage: 'Teilweise ausgefallen',
    major_outage: 'Weitgehend ausgefallen',
    maintenance: 'Wartung',
    paused: 'Pausiert',
    pending: 'Noch keine Daten',
  },
  witnesses: { fail: 'ausgefallen', ok: 'läuft', unknown: 'kein Ergebnis' },
  slow: 'Langsame Antworten',
  dayCounts: {
    down: (count) => `ein Ausfall an ${onDays(count)}`,
    maintenance: (count) => `Wartung an ${onDays(count)}`,
    unknown: (count) => `keine Daten an ${onDays(count)}`,
    up: (count) => `in Betrieb an ${onDays(count)}`,
  },
  barsOf: (count) => `Die letzten ${days(count)}`,
  legend: { up: 'in Betrieb', down: 'Ausfall', maintenance: 'Wartung', unknown: 'keine Daten' },
  eachBar: 'Ein Balken pro Tag:',
  today: 'heute',
  objectives: 'Zusagen',
  promised: (target, within, period) =>
    `Zugesagt: ${target}${within === null ? '' : ` nach höchstens ${within}`} ${period === '30d' ? 'in 30 Tagen' : 'in diesem Monat'}`,
  kept: 'Eingehalten',
  missed: 'Nicht eingehalten',
  uptimeOver: (count) => `Verfügbarkeit in ${onDays(count)}`,
  posts: {
    announcement: 'Ankündigung',
    investigating: 'Wird untersucht',
    identified: 'Ursache gefunden',
    monitoring: 'Wird beobachtet',
    resolved: 'Behoben',
  },
  postMortem: 'Nachbetrachtung',
  affects: 'Betrifft',
  incident: (names) => `Ausfall: ${names}`,
  incidentOver: (duration) => `Behoben nach ${duration}`,
  running: 'Wartung läuft',
  coming: 'Geplante Wartung',
  fromTo: (from, to) => `${from} bis ${to}`,
  past: 'Vergangene Störungen',
  noneRecent: 'Keine Störung in den letzten 14 Tagen',
  noneThen: 'Keine Störung in diesem Monat',
  allPast: 'Verlauf nach Monaten',
  back: 'Alle Dienste',
  updates: 'Abonnieren',
  mailLabel: 'Ihre E-Mail-Adresse',
  mailSubmit: 'Abonnieren',
  mailNote: 'Zuerst senden wir einen Link zur Bestätigung. Sie können in jeder E-Mail abbestellen.',
  webhookLabel: 'Webhook',
  webhookUrl: 'URL Ihres Servers',
  webhookNote:
    'Zuerst senden wir einen POST mit einer Prüfaufgabe. Ihr Server muss mit dem Text von data.challenge antworten. Nachrichten sind signiert (Standard Webhooks).',
  feeds: 'Feeds',
  calendar: 'Wartungskalender',
  aboutUs: 'Über diese Überwachung',
  measured: 'So wird die Verfügbarkeit gemessen',
  measuredText: [
    'Jeder Dienst hier wird rund um die Uhr von mehreren Kontinenten aus geprüft.',
    'Als ausgefallen gilt ein Dienst erst, wenn auch ein zweiter Kontinent den Fehler sieht. Eine schlechte Leitung allein ist kein Ausfall.',
    'Die Verfügbarkeit ist die Zeit in Betrieb, geteilt durch die Zeit in Betrieb oder im Ausfall. Wartung, Pausen und Zeit ohne Daten zählen nicht, ebenso wenig von Hand gemeldete Störungen: Verfügbarkeit wird gemessen.',
    'Zahlen sind abgerundet: 100 % heißt, dass es keinen Ausfall gab.',
    'Was Sie sehen, ist höchstens zehn Sekunden alt, wenn die Seite nichts anderes sagt.',
  ],
  language: 'Sprache',
  timesIn: (zone) => `Zeiten in ${zone}`,
  asOf: (at) => `Stand: ${at}`,
  stale: (at) => `Stand von ${at}. Neuere Daten sind gerade nicht verfügbar.`,
  day: 'Tag',
  outage: 'Ausfall',
  noTrouble: 'Kein Ausfall und keine Wartung in den letzten 90 Tagen',
  gone: 'Statusseite nicht gefunden',
  goneText: 'Die Adresse stimmt nicht, oder die Seite wurde abgeschaltet.',
  away: 'Der Status ist gerade nicht verfügbar',
  awayText: 'Das sagt nichts über die Dienste. Bitte versuchen Sie es in einer Minute noch einmal.',
  locked: 'Diese Statusseite ist nicht öffentlich',
  lockedByLink: 'Öffnen Sie sie mit dem Link, den Sie bekommen haben.',
  password: 'Passwort',
  enter: 'Öffnen',
  wrong: 'Falsches Passwort',
  tooMany: 'Zu viele Versuche. Versuchen Sie es in 15 Minuten noch einmal.',
  subscribing: {
    asked: 'Sehen Sie in Ihr Postfach',
    askedText:
      'Wenn diese Adresse noch nicht angemeldet ist, haben wir ihr einen Link zur Bestätigung gesendet.',
    confirm: 'Abonnement bestätigen?',
    confirmButton: 'Abonnement bestätigen',
    confirmed: 'Sie sind angemeldet',
    dead: 'Dieser Link ist abgelaufen',
    deadText: 'Melden Sie sich auf der Statusseite noch einmal an.',
    leave: 'Meldungen abbestellen?',
    leaveButton: 'Abbestellen',
    left: 'Sie sind abgemeldet',
    badAddress: 'Das ist keine E-Mail-Adresse',
    often: 'Zu viele Versuche. Versuchen Sie es in 15 Minuten noch einmal.',
    webhook: {
      secret: 'Mit diesem Geheimnis prüfen Sie Signaturen. Es wird nur einmal gezeigt.',
      leave: 'Zum Abbestellen öffnen Sie diesen Link. Jede Nachricht enthält ihn auch.',
      invalid: [
        'Das ist keine https://-URL',
        'Geben Sie die ganze Adresse ein, ohne Benutzernamen.',
      ],
      taken: [
        'Diese URL ist schon angemeldet',
        'Um sie neu anzumelden, bestellen Sie zuerst mit dem Link in ihren Nachrichten ab.',
      ],
      full: [
        'Diese Seite nimmt keine weiteren Webhooks an',
        'Sie können weiterhin per E-Mail oder Feed abonnieren.',
      ],
      unproved: [
        'Ihr Server hat die Prüfaufgabe nicht beantwortet',
        'Er muss unseren POST innerhalb von 10 Sekunden mit Status 200 und dem Text von data.challenge beantworten.',
      ],
    },
  },
  usual: {
    investigating: (names, count) =>
      `${names} ${work(count)} nicht wie gewohnt. Wir suchen die Ursache.`,
    identified: (names, count) =>
      `Wir wissen, warum ${names} nicht ${work(count)}, und beheben es.`,
    monitoring: (names, count) =>
      `${names} ${work(count)} wieder. Wir beobachten, ob es so bleibt.`,
    resolved: (names, count) => `${names} ${work(count)} wieder wie gewohnt.`,
  },
  oneCause: (count) => `Eine Ursache betrifft ${count} Dienste`,
  services: (count) => `${count} Dienste`,
  mail: {
    locale: 'de-DE',
    optIn: {
      subject: (title) => `Bestätigen Sie Ihr Abonnement von ${title}`,
      sentence: (title) =>
        `Öffnen Sie diesen Link innerhalb von zwei Tagen, um Meldungen von ${title} per E-Mail zu bekommen.`,
      label: 'Abonnement bestätigen',
      because:
        'Jemand hat Ihre Adresse auf dieser Statusseite eingetragen. Waren Sie das nicht, ignorieren Sie diese E-Mail: Es kommt keine weitere.',
    },
    began: {
      subject: (name) => `${name}: ausgefallen`,
      sentence: (name, at) => `${name}: ausgefallen seit ${at}.`,
    },
    over: {
      subject: (name) => `${name}: läuft wieder`,
      sentence: (name, from, to) =>
        `${name} läuft wieder. Der Ausfall dauerte von ${from} bis ${to}.`,
    },
    see: 'Zur Statusseite',
    or: 'Oder öffnen Sie diese Adresse:',
    because: (title, leave) => `Sie haben Meldungen von ${title} abonniert. Abbestellen: ${leave}`,
  },
  badge: { status: 'Status', uptime: 'Verfügbarkeit', response: 'Antwortzeit' },
};

function onDays(count: number): string {
  return count === 1 ? '1 Tag' : `${count} Tagen`;
}

function days(count: number): string {
  return count === 1 ? '1 Tag' : `${count} Tage`;
}

function work(count: number): string {
  return count === 1 ? 'funktioniert' : 'funktionieren';
}
