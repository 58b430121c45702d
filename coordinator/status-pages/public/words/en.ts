import type { Words } from './types.ts';

export const english: Words = {
  itself: 'English',
  down: (names, count, of) =>
    count <= 3
      ? `${names} ${count === 1 ? 'is' : 'are'} down`
      : `${count} of ${of} services are down`,
  reported: (names, count, impact) => {
    if (count > 3) return `${count} services are affected`;
    if (impact === 'degraded') return `${names} ${count === 1 ? 'is' : 'are'} degraded`;
    const size = impact === 'partial_outage' ? 'partial' : 'major';
    return `${names} ${count === 1 ? 'has' : 'have'} a ${size} outage`;
  },
  maintenanceNow: (names) => `Under maintenance: ${names}`,
  allUp: 'Everything is up',
  pending: 'No data yet',
  empty: 'Nothing is published here yet',
  sinceFor: (at, duration) => `Since ${at}, for ${duration}.`,
  until: (at) => `Until ${at}.`,
  states: {
    up: 'Up',
    down: 'Down',
    degraded: 'Degraded',
    partial_outage: 'Partial outage',
    major_outage: 'Major outage',
    maintenance: 'Maintenance',
    paused: 'Paused',
    pending: 'No data yet',
  },
  witnesses: { fail: 'down', ok: 'up', unknown: 'no result' },
  slow: 'Slow responses',
  dayCounts: {
    down: (count) => `an outage on ${days(count)}`,
    maintenance: (count) => `maintenance on ${days(count)}`,
    unknown: (count) => `no data on ${days(count)}`,
    up: (count) => `up on ${days(count)}`,
  },
  barsOf: (count) => `The last ${days(count)}`,
  legend: { up: 'up', down: 'outage', maintenance: 'maintenance', unknown: 'no data' },
  eachBar: 'One bar per day:',
  today: 'today',
  objectives: 'Service levels',
  promised: (target, within, period) =>
    `Promised: ${target}${within === null ? '' : ` within ${within}`} ${period === '30d' ? 'over 30 days' : 'this month'}`,
  kept: 'Kept',
  missed: 'Missed',
  uptimeOver: (count) => `Uptime, ${days(count)}`,
  posts: {
    announcement: 'Announcement',
    investigating: 'Investigating',
    identified: 'Identified',
    monitoring: 'Monitoring',
    resolved: 'Resolved',
  },
  postMortem: 'Post-mortem',
  affects: 'Affects',
  incident: (names) => `Outage: ${names}`,
  incidentOver: (duration) => `Resolved after ${duration}`,
  running: 'Maintenance now',
  coming: 'Scheduled maintenance',
  fromTo: (from, to) => `${from} to ${to}`,
  past: 'Past incidents',
  noneRecent: 'No incidents in the last 14 days',
  noneThen: 'No incidents this month',
  allPast: 'History by month',
  back: 'All services',
  updates: 'Subscribe',
  mailLabel: 'Your e-mail address',
  mailSubmit: 'Subscribe',
  mailNote: 'We send a link to confirm first. You can unsubscribe in every e-mail.',
  webhookLabel: 'Webhook',
  webhookUrl: 'URL of your server',
  webhookNote:
    'We send a POST with a challenge first. Your server must answer with the text of data.challenge. Messages are signed (Standard Webhooks).',
  feeds: 'Feeds',
  calendar: 'Maintenance calendar',
  aboutUs: 'About this monitoring',
  measured: 'How uptime is measured',
  measuredText: [
    'Every service here is checked around the clock from several continents.',
    'A service counts as down only when a second continent confirms the failure. One bad connection is not an outage.',
    'Uptime is the time up divided by the time up or down. Maintenance, pauses and time without data do not count. Nor do incidents that are reported by hand: uptime is measured.',
    'Figures are rounded down: 100 % means no outage at all.',
    'The page is at most ten seconds old, unless it says otherwise.',
  ],
  language: 'Language',
  timesIn: (zone) => `Times in ${zone}`,
  asOf: (at) => `As of ${at}`,
  stale: (at) => `Showing data from ${at}. Newer data is not available right now.`,
  day: 'Day',
  outage: 'Outage',
  noTrouble: 'No outage or maintenance in the last 90 days',
  gone: 'Status page not found',
  goneText: 'The address is wrong, or the page is switched off.',
  away: 'The status is not available right now',
  awayText: 'This says nothing about the services. Please try again in a minute.',
  locked: 'This status page is private',
  lockedByLink: 'Open it with the link you received.',
  password: 'Password',
  enter: 'Open',
  wrong: 'Wrong password',
  tooMany: 'Too many attempts. Try again in 15 minutes.',
  subscribing: {
    asked: 'Check your inbox',
    askedText: 'If this address is not subscribed yet, we sent it a link to confirm.',
    confirm: 'Confirm your subscription?',
    confirmButton: 'Confirm subscription',
    confirmed: 'You are subscribed',
    dead: 'This link has expired',
    deadText: 'Subscribe again on the status page.',
    leave: 'Unsubscribe from updates?',
    leaveButton: 'Unsubscribe',
    left: 'You are unsubscribed',
    badAddress: 'This is not an e-mail address',
    often: 'Too many attempts. Try again in 15 minutes.',
    webhook: {
      secret: 'Use this secret to verify signatures. It is shown only once.',
      leave: 'To unsubscribe, open this link. Every message contains it too.',
      invalid: ['This is not an https:// URL', 'Enter the full address, without a user name.'],
      taken: [
        'This URL is already subscribed',
        'To subscribe again, unsubscribe first with the link in its messages.',
      ],
      full: ['This page takes no more webhooks', 'You can still subscribe by e-mail or feed.'],
      unproved: [
        'Your server did not answer the challenge',
        'It must answer our POST within 10 seconds, with status 200 and the text of data.challenge as the body.',
      ],
    },
  },
  usual: {
    investigating: (names, count) =>
      `${names} ${are(count)} not working as expected. We are investigating.`,
    identified: (names, count) =>
      `We know why ${names} ${are(count)} not working and are fixing it.`,
    monitoring: (names, count) => `${names} ${are(count)} working again. We are monitoring this.`,
    resolved: (names, count) => `${names} ${are(count)} working normally again.`,
  },
  oneCause: (count) => `One cause affects ${count} services`,
  services: (count) => `${count} services`,
  mail: {
    locale: 'en-GB',
    optIn: {
      subject: (title) => `Confirm your subscription to ${title}`,
      sentence: (title) => `Open this link within two days to get updates of ${title} by e-mail.`,
      label: 'Confirm subscription',
      because:
        'Someone entered your address on this status page. If it was not you, ignore this e-mail: you get no other.',
    },
    began: {
      subject: (name) => `${name} is down`,
      sentence: (name, at) => `${name} has been down since ${at}.`,
    },
    over: {
      subject: (name) => `${name} is up again`,
      sentence: (name, from, to) => `${name} is up again. It was down from ${from} to ${to}.`,
    },
    see: 'View status page',
    or: 'Or open this address:',
    because: (title, leave) => `You subscribed to updates of ${title}. Unsubscribe: ${leave}`,
  },
  badge: { status: 'status', uptime: 'uptime', response: 'response' },
};

function are(count: number): string {
  return count === 1 ? 'is' : 'are';
}

function days(count: number): string {
  return count === 1 ? '1 day' : `${count} days`;
}
