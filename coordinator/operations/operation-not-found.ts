import { Refusal, type RefusalCode } from '../../shared/base/errors.ts';

const words = {
  monitor_not_found: 'monitor',
  incident_not_found: 'incident',
  maintenance_window_not_found: 'maintenance window',
  group_not_found: 'group',
  status_page_not_found: 'status page',
  status_page_monitor_not_found: 'monitor on this status page',
  status_page_group_not_found: 'group on this status page',
  status_page_post_not_found: 'post on this status page',
  trial_not_found: 'trial',
  channel_not_found: 'channel',
  message_not_found: 'message',
  mute_not_found: 'mute',
  share_not_found: 'link to this incident',
  token_not_found: 'token',
  connection_not_found: 'connected assistant',
  member_not_found: 'member with that e-mail address',
  user_not_found: 'user with that e-mail address',
  session_not_found: 'session',
  passkey_not_found: 'passkey',
  invitation_not_found: 'invitation',
  probe_not_found: 'probe',
  organisation_not_found: 'organisation',
  set_aside_not_found: 'message that was set aside',
} as const satisfies Partial<Record<RefusalCode, string>>;

/** The same words for what does not exist and for what is another organisation's, so that nobody can tell the two apart. */
export const notFound = (code: keyof typeof words): Refusal => new Refusal(code, `There is no such ${words[code]}.`);

/** The row, or the refusal that there is none. */
export const found = <Row>(row: Row | undefined, code: keyof typeof words): Row => {
  if (row === undefined) throw notFound(code);
  return row;
};
