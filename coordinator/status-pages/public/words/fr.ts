import type { Words } from './types.ts';

export const french: Words = {
  itself: 'Français',
  down: (names, count, of) =>
    count <= 3 ? `${names} : en panne` : `${count} services sur ${of} sont en panne`,
  reported: (names, count, impact) => {
    if (count > 3) return `${count} services sont touchés`;
    const words = {
      degraded: 'service dégradé',
      partial_outage: 'panne partielle',
      major_outage: 'panne majeure',
    };
    return `${names} : ${words[impact]}`;
  },
  maintenanceNow: (names) => `Maintenance en cours : ${names}`,
  allUp: 'Tout fonctionne',
  pending: 'Pas encore de données',
  empty: 'Rien n’est encore publié ici',
  sinceFor: (at, duration) => `Depuis ${at}, soit ${duration}.`,
  until: (at) => `Jusqu’à ${at}.`,
  states: {
    up: 'En service',
    down: 'En panne',
    degraded: 'Service dégradé',
    partial_outage: 'Panne partielle',
    major_outage: 'Panne majeure',
    maintenance: 'Maintenance',
    paused: 'En pause',
    pending: 'Pas encore de données',
  },
  witnesses: { fail: 'en panne', ok: 'en service', unknown: 'aucun résultat' },
  slow: 'Réponses lentes',
  dayCounts: {
    down: (count) => `une panne sur ${days(count)}`,
    maintenance: (count) => `maintenance sur ${days(count)}`,
    unknown: (count) => `sans données sur ${days(count)}`,
    up: (count) => `en service sur ${days(count)}`,
  },
  barsOf: (count) => (count === 1 ? 'Le dernier jour' : `Les ${count} derniers jours`),
  legend: { up: 'en service', down: 'panne', maintenance: 'maintenance', unknown: 'sans données' },
  eachBar: 'Une barre par jour :',
  today: 'aujourd’hui',
  objectives: 'Niveaux de service',
  promised: (target, within, period) =>
    `Promis : ${target}${within === null ? '' : ` en ${within} au plus`} ${period === '30d' ? 'sur 30 jours' : 'ce mois-ci'}`,
  kept: 'Respecté',
  missed: 'Non respecté',
  uptimeOver: (count) => `Disponibilité sur ${days(count)}`,
  posts: {
    announcement: 'Annonce',
    investigating: 'En cours d’analyse',
    identified: 'Cause trouvée',
    monitoring: 'Sous surveillance',
    resolved: 'Résolu',
  },
  postMortem: 'Bilan de l’incident',
  affects: 'Concerne',
  incident: (names) => `Panne : ${names}`,
  incidentOver: (duration) => `Résolu après ${duration}`,
  running: 'Maintenance en cours',
  coming: 'Maintenance prévue',
  fromTo: (from, to) => `${from} – ${to}`,
  past: 'Incidents passés',
  noneRecent: 'Aucun incident ces 14 derniers jours',
  noneThen: 'Aucun incident ce mois-là',
  allPast: 'Historique par mois',
  back: 'Tous les services',
  updates: 'S’abonner',
  mailLabel: 'Votre adresse e-mail',
  mailSubmit: 'S’abonner',
  mailNote: 'Nous envoyons d’abord un lien de confirmation. Chaque e-mail permet de se désabonner.',
  webhookLabel: 'Webhook',
  webhookUrl: 'URL de votre serveur',
  webhookNote:
    'Nous envoyons d’abord un POST avec un défi. Votre serveur doit répondre avec le texte de data.challenge. Les messages sont signés (Standard Webhooks).',
  feeds: 'Flux',
  calendar: 'Calendrier de maintenance',
  aboutUs: 'À propos de cette surveillance',
  measured: 'Comment la disponibilité est mesurée',
  measuredText: [
    'Chaque service est vérifié jour et nuit depuis plusieurs continents.',
    'Un service n’est dit en panne que si un deuxième continent voit aussi le défaut. Une mauvaise ligne seule n’est pas une panne.',
    'La disponibilité est le temps en service, divisé par le temps en service ou en panne. La maintenance, les pauses et le temps sans données ne comptent pas, pas plus que les incidents signalés à la main : la disponibilité est mesurée.',
    'Les chiffres sont arrondis vers le bas : 100 % veut dire aucune panne.',
    'Ce que vous voyez a au plus dix secondes, sauf si la page dit autre chose.',
  ],
  language: 'Langue',
  timesIn: (zone) => `Heures : ${zone}`,
  asOf: (at) => `État : ${at}`,
  stale: (at) =>
    `Données de ${at}. Des données plus récentes ne sont pas disponibles pour le moment.`,
  day: 'Jour',
  outage: 'Panne',
  noTrouble: 'Aucune panne ni maintenance ces 90 derniers jours',
  gone: 'Page d’état introuvable',
  goneText: 'L’adresse est fausse, ou la page a été retirée.',
  away: 'L’état n’est pas disponible pour le moment',
  awayText: 'Cela ne dit rien des services. Veuillez réessayer dans une minute.',
  locked: 'Cette page d’état est privée',
  lockedByLink: 'Ouvrez-la avec le lien que vous avez reçu.',
  password: 'Mot de passe',
  enter: 'Ouvrir',
  wrong: 'Mot de passe incorrect',
  tooMany: 'Trop d’essais. Réessayez dans 15 minutes.',
  subscribing: {
    asked: 'Consultez votre boîte de réception',
    askedText:
      'Si cette adresse n’est pas encore abonnée, nous lui avons envoyé un lien de confirmation.',
    confirm: 'Confirmer votre abonnement ?',
    confirmButton: 'Confirmer l’abonnement',
    confirmed: 'Vous êtes abonné',
    dead: 'Ce lien a expiré',
    deadText: 'Abonnez-vous de nouveau sur la page d’état.',
    leave: 'Se désabonner ?',
    leaveButton: 'Se désabonner',
    left: 'Vous êtes désabonné',
    badAddress: 'Ce n’est pas une adresse e-mail',
    often: 'Trop d’essais. Réessayez dans 15 minutes.',
    webhook: {
      secret: 'Ce secret sert à vérifier les signatures. Il n’est affiché qu’une fois.',
      leave: 'Pour vous désabonner, ouvrez ce lien. Chaque message le contient aussi.',
      invalid: [
        'Ce n’est pas une URL https://',
        'Saisissez l’adresse complète, sans nom d’utilisateur.',
      ],
      taken: [
        'Cette URL est déjà abonnée',
        'Pour l’abonner de nouveau, désabonnez-la d’abord avec le lien de ses messages.',
      ],
      full: [
        'Cette page n’accepte plus de webhooks',
        'Vous pouvez toujours vous abonner par e-mail ou par flux.',
      ],
      unproved: [
        'Votre serveur n’a pas répondu au défi',
        'Il doit répondre à notre POST en moins de 10 secondes, avec le statut 200 et le texte de data.challenge.',
      ],
    },
  },
  usual: {
    investigating: (names, count) =>
      `${names} ne ${work(count)} pas normalement. Nous en cherchons la cause.`,
    identified: (names, count) =>
      `Nous savons pourquoi ${names} ne ${work(count)} pas et procédons à la réparation.`,
    monitoring: (names, count) =>
      `${names} ${work(count)} de nouveau. Nous vérifions que cela dure.`,
    resolved: (names, count) => `${names} ${work(count)} de nouveau normalement.`,
  },
  oneCause: (count) => `Une même cause touche ${count} services`,
  services: (count) => `${count} services`,
  mail: {
    locale: 'fr-FR',
    optIn: {
      subject: (title) => `Confirmez votre abonnement à ${title}`,
      sentence: (title) =>
        `Ouvrez ce lien dans les deux jours pour recevoir les nouvelles de ${title} par e-mail.`,
      label: 'Confirmer l’abonnement',
      because:
        'Quelqu’un a saisi votre adresse sur cette page d’état. Si ce n’était pas vous, ignorez cet e-mail : vous n’en recevrez pas d’autre.',
    },
    began: {
      subject: (name) => `${name} : en panne`,
      sentence: (name, at) => `${name} : en panne depuis le ${at}.`,
    },
    over: {
      subject: (name) => `${name} : de nouveau en service`,
      sentence: (name, from, to) =>
        `${name} est de nouveau en service. La panne a duré du ${from} au ${to}.`,
    },
    see: 'Voir la page d’état',
    or: 'Ou ouvrez cette adresse :',
    because: (title, leave) =>
      `Vous êtes abonné aux nouvelles de ${title}. Se désabonner : ${leave}`,
  },
  badge: { status: 'état', uptime: 'disponibilité', response: 'réponse' },
};

function days(count: number): string {
  return count <= 1 ? `${count} jour` : `${count} jours`;
}

function work(count: number): string {
  return count === 1 ? 'fonctionne' : 'fonctionnent';
}
