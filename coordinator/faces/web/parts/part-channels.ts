import type { getChannel } from '../../../../shared/api/channels.ts';
import type { listChannelKinds } from '../../../../shared/api/inner/inner-channels.ts';
import type { OutputOf } from '../../../../shared/api/operation.ts';
import { Refusal } from '../../../../shared/base/errors.ts';
import { durationText } from '../../../../shared/base/time.ts';
import { mailMissingWords } from '../web-delivery-bar.ts';
import type { Html } from '../web-html.ts';
import type { MembersRequest } from '../web-page.ts';
import { msText } from './part-figures.ts';
import { type State, stateMark } from './part-states.ts';

/** A channel in words. */

export type Channel = OutputOf<typeof getChannel>;
export type Kind = OutputOf<typeof listChannelKinds>['items'][number];

type Standing = { readonly state: State; readonly words: string };

/** `mail`: whether it is set up here. What keeps it from being told comes before whether it was told well. */
export const standingOf = ({ kind, enabled, unsubscribed, verified, delivering, last_taken_at }: Channel, mail: boolean): Standing => {
  if (!enabled) return { state: 'paused', words: 'Off' };
  if (unsubscribed) return { state: 'unknown', words: 'Unsubscribed' };
  if (kind === 'email' && !mail) return { state: 'down', words: mailMissingWords };
  if (!verified) return { state: 'verifying', words: 'Not confirmed yet' };
  if (!delivering) return { state: 'down', words: 'Not delivering' };
  return last_taken_at === null ? { state: 'pending', words: 'Not used yet' } : { state: 'up', words: 'Delivering' };
};

export const channelMark = (channel: Channel, mail: boolean): Html => {
  const { state, words } = standingOf(channel, mail);
  return stateMark(state, words);
};

export const kindName = (kinds: readonly Kind[], id: string): string => kinds.find((kind) => kind.id === id)?.name ?? id;

/** Where it leads, as far as that may be shown; nothing where all of it is secret. */
export const whereOf = ({ kind, config }: Channel, kinds: readonly Kind[]): string | undefined => {
  const fields = kinds.find(({ id }) => id === kind)?.fields ?? [];
  if (fields.some(({ input }) => input === 'subscription')) return 'the browser in which it was added';
  const shown = fields.map(({ name }) => config[name]).find((value) => typeof value === 'string' && value !== '***');
  return typeof shown === 'string' ? shown : undefined;
};

const counted = (count: number, one: string): string => (count === 1 ? `1 ${one}` : `${count} ${one}s`);

export const coversText = ({ covers, monitors, groups }: Channel): string => {
  if (covers === 'all') return 'all monitors';
  const parts = [
    ...(groups.length > 0 ? [counted(groups.length, 'group')] : []),
    ...(monitors.length > 0 ? [counted(monitors.length, 'monitor')] : []),
  ];
  return parts.length === 0 ? 'nothing yet' : parts.join(' and ');
};

/** From when nothing held a message any more until it was taken. */
export const p95Text = (ms: number | null): string => (ms === null || ms < 60_000 ? msText(ms) : durationText(ms));

/** `at once`, `after 5 min`. */
export const delayText = (delay_s: number): string => (delay_s === 0 ? 'at once' : `after ${durationText(delay_s * 1_000)}`);

const dayNames = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** `Mon–Fri`, `Mon, Wed`. */
const daysText = (days: readonly number[]): string => {
  const [first, last] = [days[0] ?? 1, days.at(-1) ?? 1];
  const name = (day: number): string => dayNames[day - 1] ?? String(day);
  return days.length > 2 && last - first === days.length - 1 ? `${name(first)}–${name(last)}` : days.map(name).join(', ');
};

export const hoursText = ({ hours }: Channel): string =>
  hours === null
    ? 'at any hour'
    : `${hours.spans.map(({ days, from, to }) => `${daysText(days)} ${from}–${to}`).join('; ')} (${hours.zone ?? 'UTC'})`;

export const mayManage = ({ may }: MembersRequest): boolean => may({ access: 'manage' });

/** Members look after their own, owners and admins after all. */
export const mayChange = (request: MembersRequest, { owner }: Channel): boolean =>
  mayManage(request) || (request.may({ access: 'write' }) && owner === request.signedIn.person.email);

/** @throws Refusal. */
export const refuseUnlessMayChange = (request: MembersRequest, channel: Channel): void => {
  if (mayChange(request, channel)) return;
  throw new Refusal('role_insufficient', 'Members change their own channels; those of the organisation belong to its owners and admins.');
};
