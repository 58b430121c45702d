import { statusOf } from '../../../shared/api/operation.ts';
import { type RefusalCode, refusalCodes } from '../../../shared/base/errors.ts';

/** What each code of the API means, for the document; an answer's own message says more. */
const words: Partial<Record<RefusalCode, string>> = {
  token_missing: 'No bearer token was sent.',
  token_invalid: 'The token is unknown, revoked or expired.',
  scope_insufficient: 'The token may only read.',
  role_insufficient: 'Your role in the organisation may not do this.',
  plan_limit_monitors: 'The plan allows no more monitors.',
  plan_limit_interval: 'The plan does not allow checks this often.',
  plan_limit_private_probes: 'The plan allows no more private probes; open invitations count.',
  continent_unknown: 'There is no such continent.',
  invitation_not_found: 'There is no such invitation, or it was used.',
  plan_limit_channels: 'The plan allows no more channels.',
  plan_limit_groups: 'The plan allows no more groups.',
  plan_limit_windows: 'The plan allows no more maintenance windows that are not over.',
  plan_limit_occurrences: 'The window would occur too often within 90 days.',
  channel_not_found: 'There is no such channel.',
  channel_kind_unknown: 'There is no such kind of channel.',
  channel_invalid: 'The config is not what the kind asks for, or a time to wait is out of range; the message names each field.',
  hours_invalid: 'The hours are not days and times of a week.',
  time_zone_invalid: 'The time zone is none of IANA.',
  channel_test_limit: 'An organisation asks mailboxes and tests channels ten times an hour, and one mailbox three times a day.',
  channel_test_failed:
    'The test message was not taken, and nothing is saved; the message says why, and `try: false` saves it all the same.',
  mail_missing: 'Mail is not set up on this installation.',
  incident_over: 'The incident is over, or was never confirmed.',
  monitor_not_found: 'There is no such monitor.',
  external_id_invalid: 'The external id is not one line of at most 200 characters.',
  external_id_taken: 'Another one has this external id.',
  type_differs: 'The monitor of this external id has another type, which never changes.',
  tags_invalid: 'The tags are too many, or one is too long or has blanks or commas.',
  incident_not_found: 'There is no such incident.',
  probe_not_found: 'The organisation has no such private probe, or it was ended.',
  organisation_ending: 'The organisation is about to be deleted: until then it may only be looked at, and an owner may keep it.',
  maintenance_window_not_found: 'There is no such maintenance window.',
  group_not_found: 'There is no such group.',
  status_page_not_found: 'There is no such status page.',
  status_page_monitor_not_found: 'The monitor is not on this page.',
  status_page_group_not_found: 'The group is not on this page.',
  status_page_post_not_found: 'There is no such post on this page.',
  plan_limit_status_pages: 'The plan allows no more status pages.',
  slug_invalid: 'The last part of the address is not of small letters, digits and dashes.',
  slug_taken: 'Another page has this address.',
  accent_invalid: 'The colour is none, or is hard to read on white; the message names one that would do.',
  password_invalid: 'The password is too short or too long.',
  domain_invalid: 'The domain is no name of a host, or is that of the service itself.',
  domain_taken: 'Another page proved this domain.',
  domain_missing: 'The page has no domain to look for.',
  order_invalid: 'The rows are not those of the page, each once.',
  incident_not_published: 'The page does not show this incident: its monitor is not on it, or it is not confirmed.',
  post_invalid: 'The text is empty or too long.',
  route_not_found: 'There is no such route.',
  method_not_allowed: 'This route answers to other methods; `Allow` names them.',
  monitor_type_unknown: 'The type is none of `https`, `dns` and `heartbeat`.',
  target_invalid: 'The target is not one that the type can watch.',
  target_forbidden: 'The target is an address that no probe may reach.',
  config_invalid: 'A key of the config has a value that it cannot have.',
  interval_out_of_range: 'The interval is too short or too long.',
  name_invalid: 'The name is empty or too long.',
  description_invalid: 'The description is too long.',
  rrule_invalid: 'The recurrence rule cannot be used.',
  window_invalid: 'The window covers nothing, or ends before it starts.',
  nobody_can_check: 'No probe that exists could perform this check.',
  position_invalid: 'The position is out of range.',
  already_published: 'It is published on this page already.',
  name_taken: 'Another one has this name.',
  idempotency_key_in_use: 'A call with this `Idempotency-Key` is being worked on; send it again in a moment.',
  idempotency_answer_too_large:
    'The call under this `Idempotency-Key` was answered before; its answer was too large to keep, alone or with those that came since.',
  idempotency_key_reused: 'This `Idempotency-Key` was sent with another request; give each request a key of its own.',
  request_malformed: 'The request could not be read.',
  body_too_large: 'The body is larger than 64 KiB, or than 2 MiB where many things may be named.',
  headers_too_large: 'The headers are larger than 16 KiB.',
  rate_limited: 'Too many calls; wait as long as `Retry-After` says.',
  unavailable: 'The database or the bus does not answer; wait as long as `Retry-After` says.',
  internal: 'Something went wrong on our side.',
};

export const meaningOf = (code: RefusalCode): string => {
  const meaning = words[code];
  if (meaning === undefined) throw new Error(`the code ${code} stands in the API and has no meaning in its document`);
  return meaning;
};

/** Oversized headers are refused before a route is found, with the status that HTTP has for them. */
export const statusOfCode = (code: RefusalCode): number => (code === 'headers_too_large' ? 431 : statusOf[refusalCodes[code]]);
