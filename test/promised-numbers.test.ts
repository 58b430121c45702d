import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

/**
 * The numbers that users and operators are promised, or that protect them: the least and the most
 * that each may be. Whoever moves one changes a promise, and changes this table with it. The numbers
 * are read from the source, so that nothing is exported for a test.
 */

const root = resolve(import.meta.dirname, '..');
const [second, minute, hour, day, kib] = [1_000, 60_000, 3_600_000, 86_400_000, 1_024];

/** `list.2` is an item of a list, `limits.host` a member of an object. */
type Row = readonly [promise: string, file: string, name: string, least: number, most?: number];

const people: readonly Row[] = [
  ['an unused session ends after a week', 'people/sessions', 'idleMs', 7 * day],
  ['every session ends after a month', 'people/sessions', 'oldestMs', 30 * day],
  ['a proof of identity counts for a quarter of an hour', 'gate/roles', 'provenMs', 15 * minute],
  ["an operator's link", 'people/sessions', 'linkLifetimes.operator', hour],
  ['a link to a new password', 'people/sessions', 'linkLifetimes.passwordReset', hour],
  ['a link that confirms an address', 'people/sessions', 'linkLifetimes.email', 2 * day],
  ['a link that ends a sign-up', 'people/sessions', 'linkLifetimes.signUp', 2 * day],
  ['an invitation', 'people/sessions', 'linkLifetimes.invitation', 7 * day],
  ['a second step', 'people/sessions', 'linkLifetimes.secondStep', 10 * minute],
  ['a passkey challenge', 'people/sessions', 'linkLifetimes.passkey', 5 * minute],
  ['attempts are counted for', 'gate/attempts', 'usualWindowMs', 15 * minute],
  ['organisations of one owner', 'organisations/model', 'maxOwned', 5],
  ['an organisation can be kept for a week', 'offboarding/deletion', 'keptMs', 7 * day],
  ['owners hear a day before the end', 'offboarding/deletion', 'lastWordMs', day],
  ['access of an assistant, in seconds', 'assistants/oauth', 'lifetimes.access', 15 * 60],
  ['a connection that is used lasts', 'assistants/oauth', 'lifetimes.refresh', 90 * 86_400],
  ['a code of a connection', 'assistants/oauth', 'lifetimes.code', 5 * 60],
];

const api: readonly Row[] = [
  ['a call under one key is done once in a day', 'gate/idempotency', 'idempotencyKeptMs', day],
  ['an answer that is kept', 'gate/idempotency', 'maxRecordBytes', 512 * kib],
  ['calls are limited by the minute', 'gate/rate-limit', 'windowLength', minute],
  ['a body', 'api/body', 'bodyLimit', 64 * kib],
  ['a large body', 'api/body', 'largeBodyLimit', 2 * kib * kib],
  ['depth of a body', 'api/body', 'maxDepth', 500],
  ['characters of an idempotency key', 'api/server', 'maxKeyCharacters', 255],
  ['monitors of a batch', '../shared/api/monitors', 'maxInBatch', 500],
  ['characters of a note', '../shared/api/incidents', 'longestNote', 5_000],
  ['characters of a post-mortem', '../shared/api/incidents', 'longestPostMortem', 20_000],
  ['items of a page', '../shared/api/operation', 'pageSize.most', 200],
  ['items of a page without a limit', '../shared/api/operation', 'pageSize.default', 50],
  ['monitors of a configuration', '../shared/api/files', 'mostOfKind.monitors', 10_000],
  ['status pages of a configuration', '../shared/api/files', 'mostOfKind.status_pages', 200],
  ['a mute, in minutes', '../shared/api/notifications', 'longestMute_min', 7 * 24 * 60],
  ['notes of an incident', 'incidents/operations', 'maxNotes', 200],
  ['tags of a monitor', 'monitors/model', 'maxTags', 20],
  ['characters of a tag', 'monitors/model', 'longestTag', 50],
  ['test runs a minute', 'monitors/test-operations', 'maxAMinute', 10],
  ['what was deleted can be restored, in days', 'monitors/trash-queries', 'trashDays', 7],
  ['tries of an import an hour', 'imports/operations', 'triesAnHour', 20],
  ['an import can be undone', 'imports/contract', 'undoMs', hour],
  ['a change of several monitors can be undone', 'monitors/bulk', 'undoneWithinMs', minute],
  ['a document of an import', 'imports/contract', 'maxDocumentBytes', 2 * kib * kib],
  ['bytes of a config', '../shared/checks/config', 'maxBytes', 16 * kib],
];

const notifications: readonly Row[] = [
  ['messages to a channel at once', 'notifications/policy', 'atOnce', 2],
  ['one message more in', 'notifications/policy', 'eachMs', 15 * second],
  ['several are gathered for', 'notifications/policy', 'longestMs', 60 * second],
  ['the second attempt after', 'deliveries/model', 'pauses.0', second],
  ['the third attempt after', 'deliveries/model', 'pauses.1', 5 * second],
  ['the fourth attempt after', 'deliveries/model', 'pauses.2', 30 * second],
  ['the fifth attempt after', 'deliveries/model', 'pauses.3', 2 * minute],
  ['the sixth attempt after', 'deliveries/model', 'pauses.4', 10 * minute],
  ['hourly attempts after these', 'deliveries/model', 'dayOfHours', 24],
  ['a channel counts as failing after', 'notifications/policy', 'failingMs', hour],
  ['owners are mailed about it again after', 'notifications/policy', 'ownersRepeatMs', day],
  ['the last resort is mail, after', 'notifications/policy', 'lastResortMs', 2 * minute],
  ['a monitor flaps within', 'notifications/policy', 'within', 30 * minute],
  ['a monitor flaps after so many outages', 'notifications/policy', 'maxFlaps', 3],
  ['a monitor is steady again after', 'notifications/policy', 'steadyMs', 15 * minute],
  ['a reminder, in seconds at least', 'notifications/policy', 'shortestReminder_s', 60],
  ['tests of channels an hour', 'notifications/queries', 'maxAnHour', 10],
  ['messages on their way to a channel', 'notifications/alert-sending', 'shares.subject', 2],
  ['events on their way to a webhook', 'webhooks/event-sending', 'shares.subject', 4],
  ['a message to a receiver takes', 'notifications/transport', 'usualLimitMs', 10 * second],
  ['an event to a webhook takes', 'notifications/setup', 'eventLimitMs', 15 * second],
  ['events sent again an hour', 'webhooks/operations', 'resendsAnHour', 60],
  ['replays an hour', 'webhooks/operations', 'replaysAnHour', 10],
  ['secrets of a webhook', 'webhooks/model', 'maxSecrets', 3],
  ['the second attempt of an event after', 'webhooks/model', 'pauses.0', 5 * second],
  ['the tenth attempt of an event after', 'webhooks/model', 'pauses.8', day],
];

const statusPages: readonly Row[] = [
  [
    'a subscription is confirmed within',
    'status-pages/public/subscribing',
    'optInLifetimeMs',
    2 * day,
  ],
  ['posts of an incident', 'status-pages/posts', 'maxPosts', 100],
  ['updates of a report', 'status-pages/reports', 'maxUpdates', 100],
  ['bytes of a logo', 'status-pages/model', 'largestLogo', 100 * kib],
  ['days of the strips', 'status-pages/public/snapshot', 'pageDays', 90],
  ['a page is as fresh as', 'status-pages/public/publishing', 'freshMs', 0, 4 * second],
  ['webhooks of a page', 'status-pages/public/webhooks', 'maxWebhooks', 100],
];

const kept: readonly Row[] = [
  ['account mail, in days', 'housekeeping/jobs', 'deliveryDays.mail', 30],
  ['the reason of a notification, in days', 'housekeeping/jobs', 'sentDays', 400],
  ['the audit log, in days', 'housekeeping/jobs', 'auditDays', 400],
  ['events, in days', 'housekeeping/jobs', 'eventDays', 90],
  ['the log of a webhook, in days', 'housekeeping/jobs', 'deliveryDays.event', 14],
  ['pings of a heartbeat', 'heartbeats/queries', 'keptPings', 100],
  ['bytes of a ping', 'heartbeats/routes', 'keptBodyBytes', 10_000],
  ['windows are planned ahead for', 'maintenance/window', 'expandedAhead', 90 * day],
];

const probes: readonly Row[] = [
  ['connections to the bus that are opening', 'probes/bus-entrance', 'mostOpening.all', 1_024],
  ['of one address', 'probes/bus-entrance', 'mostOpening.ofOne', 256],
  ['connections to the bus', 'probes/bus-entrance', 'mostOpen', 10_000],
  ['old credentials of a probe', 'probes/identities', 'overlapMs', day],
  ['a probe is lost after', 'core/outage', 'lostAfter', 15 * second],
  ['a silent place is not waited for after', 'probes/duplicates', 'silentMs', 15 * second],
  ['a sick probe is trusted again after so many clean checks', 'core/quarantine', 'cleanRun', 20],
  ['failures of others make a probe sick within', 'core/quarantine', 'memory', 10 * minute],
  ['an absent coordinator is not counted as time after', 'core/ledger', 'gapNoticed', 5 * second],
];

const rows = [people, api, notifications, statusPages, kept, probes].flat();

const named = rows.map(([promise, file, name, least, most = least]) => ({
  promise,
  file,
  name,
  least,
  most,
}));

test.each(named)('$promise ($file, $name)', ({ file, name, least, most }) => {
  const value = numberIn(file, name);
  expect(value).toBeGreaterThanOrEqual(least);
  expect(value).toBeLessThanOrEqual(most);
});

test('no number is promised twice', () => {
  expect(new Set(rows.map(([, file, name]) => `${file} ${name}`)).size).toBe(rows.length);
});

function numberIn(file: string, name: string): number {
  const source = readFileSync(join(root, 'coordinator', `${file}.ts`), 'utf8');
  return productOf(textOf(source, name), source, `${file}.ts, ${name}`);
}

/** The text of a constant, or of what a name such as `pauses.2` means in it. */
function textOf(source: string, name: string): string {
  const [constant = '', part] = name.split('.');
  const [, text = ''] =
    new RegExp(`^(?:export )?const ${constant}\\b[^=;]*= ([^;]*);`, 'm').exec(source) ?? [];
  if (part === undefined) return text;
  const items = text.replace(/^[[{]|[\]}](?: as const.*)?$/gs, '').split(',');
  if (/^\d+$/.test(part)) return items[Number(part)] ?? '';
  return items.find((item) => item.trim().startsWith(`${part}:`))?.replace(/^[^:]*:/, '') ?? '';
}

/** Numbers, and constants of the same file, multiplied. */
function productOf(text: string, source: string, where: string): number {
  const factors = text.split('*').map((factor) => factor.trim());
  return factors.reduce((product, factor) => {
    if (/^[\d_.]+$/.test(factor)) return product * Number(factor.replaceAll('_', ''));
    if (!/^\w+$/.test(factor)) throw new Error(`${where} is no number that this test can read`);
    return product * productOf(textOf(source, factor), source, where);
  }, 1);
}
