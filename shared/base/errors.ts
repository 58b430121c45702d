/**
 * The code that the system, the database or a library gave to an error, such as ENOENT; `otherwise`
 * where it has none.
 */
export function codeOf(error: unknown, otherwise = ''): string {
  return error instanceof Error && 'code' in error ? String(error.code) : otherwise;
}

/**
 * The kind of a refusal. Each interface translates a kind once (REST to a status, a command to an
 * exit code).
 */
export type RefusalKind =
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'invalid'
  | 'conflict'
  | 'mismatch'
  | 'limited'
  | 'too_large'
  | 'wrong_method'
  | 'unavailable'
  | 'internal';

/**
 * Every code that a caller may branch on, with its kind of refusal, and for those of the API what
 * it means; the message of an answer says more. Codes are stable: add, never rename.
 */
export const refusalCodes = {
  token_missing: ['unauthenticated', 'No bearer token was sent.'],
  token_invalid: ['unauthenticated', 'The token is unknown, revoked or expired.'],
  scope_insufficient: ['forbidden', 'The token may only read, or may not manage members.'],
  role_insufficient: ['forbidden', 'Your role in the organisation may not do this.'],
  session_missing: ['forbidden'],
  sign_up_closed: ['forbidden'],
  provider_refused: ['forbidden'],
  provider_insufficient: ['forbidden'],
  provider_away: ['unavailable'],
  proof_needed: ['forbidden'],
  origin_foreign: ['forbidden'],
  plan_limit_monitors: ['forbidden', 'The plan allows no more monitors.'],
  plan_limit_interval: ['forbidden', 'The plan does not allow checks this often.'],
  plan_limit_status_pages: ['forbidden', 'The plan allows no more status pages.'],
  plan_limit_members: ['forbidden', 'The plan allows no more members; invitations count.'],
  plan_limit_private_probes: [
    'forbidden',
    'The plan allows no more private probes; open invitations count.',
  ],
  plan_limit_channels: ['forbidden', 'The plan allows no more channels.'],
  plan_limit_webhooks: ['forbidden', 'The plan allows no more webhooks.'],
  plan_limit_groups: ['forbidden', 'The plan allows no more groups.'],
  plan_limit_objectives: ['forbidden', 'The plan allows no more objectives.'],
  plan_limit_windows: [
    'forbidden',
    'The plan allows no more maintenance windows that are not over.',
  ],
  plan_limit_occurrences: ['forbidden', 'The window would occur too often within 90 days.'],
  organisation_not_found: ['not_found', 'There is no such organisation.'],
  user_not_found: ['not_found', 'There is no such user with that e-mail address.'],
  member_not_found: ['not_found', 'There is no such member.'],
  token_not_found: ['not_found', 'There is no such token.'],
  connection_not_found: ['not_found', 'There is no such connected assistant.'],
  link_invalid: ['not_found'],
  sign_in_provider_missing: ['conflict'],
  issuer_invalid: ['invalid'],
  scim_filter_invalid: ['invalid'],
  scim_path_invalid: ['invalid'],
  scim_syntax_invalid: ['invalid'],
  scim_value_invalid: ['invalid'],
  scim_taken: ['conflict'],
  scim_full: ['forbidden'],
  provider_not_found: ['not_found', 'There is no such sign-in provider.'],
  second_step_over: ['not_found'],
  invitation_not_found: ['not_found', 'There is no such invitation, or it was used.'],
  join_token_invalid: ['not_found'],
  join_token_expired: ['not_found'],
  ping_key_not_found: ['not_found', 'There is no such ping key, or it has ended.'],
  ping_keys_full: ['forbidden', 'The organisation has as many ping keys as it may.'],
  session_not_found: ['not_found', 'There is no such session.'],
  passkey_not_found: ['not_found', 'There is no such passkey.'],
  probe_not_found: ['not_found', 'The organisation has no such private probe, or it was ended.'],
  cause_not_found: ['not_found', 'There is no such cause.'],
  place_not_found: ['not_found', 'There is no such place; or a public one cannot be changed.'],
  monitor_not_found: ['not_found', 'There is no such monitor.'],
  check_not_found: ['not_found', 'There is no such check, or it is no longer kept.'],
  incident_not_found: ['not_found', 'There is no such incident.'],
  maintenance_window_not_found: ['not_found', 'There is no such maintenance window.'],
  group_not_found: ['not_found', 'There is no such group.'],
  status_page_not_found: ['not_found', 'There is no such status page.'],
  status_page_monitor_not_found: ['not_found', 'The monitor is not on this page.'],
  status_page_group_not_found: ['not_found', 'The group is not on this page.'],
  status_page_post_not_found: ['not_found', 'There is no such post on this page.'],
  status_page_report_not_found: ['not_found', 'There is no such report on this page.'],
  set_aside_not_found: ['not_found', 'There is no such message that was set aside.'],
  test_not_found: ['not_found', 'There is no such test of yours, or it was over a minute ago.'],
  report_mail_not_found: ['not_found', 'There is no such mail of a report to you.'],
  share_not_found: ['not_found', 'There is no such link to this incident or report.'],
  channel_not_found: ['not_found', 'There is no such channel.'],
  import_not_found: ['not_found', 'There is no such import.'],
  objective_not_found: ['not_found', 'There is no such objective.'],
  webhook_not_found: ['not_found', 'There is no such webhook.'],
  webhook_delivery_not_found: [
    'not_found',
    'The log of this webhook has no such delivery, or has it no more.',
  ],
  message_not_found: ['not_found', 'There is no such message.'],
  mute_not_found: ['not_found', 'There is no such mute.'],
  route_not_found: ['not_found', 'There is no such route.'],
  monitor_type_unknown: [
    'invalid',
    'There is no such type; the message lists those that there are.',
  ],
  target_invalid: ['invalid', 'The target must be one that monitors of this type can check.'],
  target_forbidden: ['invalid', 'The target is an address that no probe may reach.'],
  config_invalid: [
    'invalid',
    'A key of the config has an invalid value; the message names the key.',
  ],
  interval_out_of_range: ['invalid', 'The interval is too short or too long.'],
  name_invalid: ['invalid', 'The name is empty or too long.'],
  description_invalid: ['invalid', 'The description is too long.'],
  rrule_invalid: ['invalid', 'The recurrence rule cannot be used.'],
  window_invalid: ['invalid', 'The window covers nothing, or ends before it starts.'],
  nobody_can_check: ['invalid', 'No probe that exists could perform this check.'],
  external_id_invalid: ['invalid', 'The external id must be one line of at most 200 characters.'],
  tags_invalid: ['invalid', 'The tags are too many, or one is too long or has blanks or commas.'],
  runbook_invalid: ['invalid', 'The runbook is too long.'],
  dependencies_invalid: [
    'invalid',
    'A monitor depends on too many, or would depend on itself; the message says how.',
  ],
  position_invalid: ['invalid', 'The position is out of range.'],
  request_malformed: ['invalid', 'The request could not be read.'],
  time_zone_invalid: [
    'invalid',
    'The time zone must be a name of the IANA database, such as `Europe/Berlin`.',
  ],
  email_invalid: ['invalid', 'This is no e-mail address.'],
  password_invalid: ['invalid', 'The password is too short or too long.'],
  role_unknown: ['invalid', 'There is no such role.'],
  scope_unknown: ['invalid'],
  sign_in_failed: ['invalid'],
  code_invalid: ['invalid'],
  passkey_refused: ['invalid'],
  passkey_unknown: ['invalid'],
  join_proof_invalid: ['invalid'],
  expiry_invalid: ['invalid'],
  plan_unknown: ['invalid'],
  continent_unknown: ['invalid', 'There is no such continent.'],
  place_unknown: ['invalid', 'The organisation has no such place.'],
  slug_invalid: [
    'invalid',
    'The last part of the address must be lowercase letters, digits and dashes.',
  ],
  accent_invalid: [
    'invalid',
    'The colour must be `#` and six digits, and readable on white; the message names one that is.',
  ],
  logo_invalid: ['invalid'],
  domain_invalid: [
    'invalid',
    'The domain must be the name of a host other than the service itself.',
  ],
  order_invalid: ['invalid', 'The rows must be those of the page, each once.'],
  report_invalid: ['invalid', 'The report starts in the future, or ends before it starts.'],
  period_invalid: [
    'invalid',
    'The period cannot be read, is empty, has not begun, or is longer than 366 days.',
  ],
  promise_invalid: ['invalid', 'A promise is a percentage above 0 and up to 100.'],
  objective_invalid: ['invalid', 'A target is above 0 and below 100, with up to four decimals.'],
  report_mail_invalid: ['invalid', 'A report is mailed to the confirmed address of an account.'],
  report_too_large: ['invalid', 'The report would be of more than 1,000 monitors; name a part.'],
  post_invalid: ['invalid', 'The text is empty or too long.'],
  not_a_heartbeat: ['invalid', 'The monitor is not a heartbeat; only heartbeats have pings.'],
  nothing_to_undo: ['invalid'],
  import_invalid: ['invalid'],
  test_impossible: ['invalid', 'A heartbeat cannot be tested; or no probe can be asked now.'],
  note_invalid: [
    'invalid',
    'The text is empty, too long, or has characters that cannot be stored.',
  ],
  hours_invalid: ['invalid', 'The hours must be days and times of a week.'],
  channel_invalid: [
    'invalid',
    'The config is not what the kind asks for, or a time to wait is out of range; the message names each field.',
  ],
  webhook_invalid: [
    'invalid',
    'Events cannot be sent to this URL, or the description is too long.',
  ],
  webhook_unproved: [
    'invalid',
    'The address did not answer the challenge with its text; the message says what it did.',
  ],
  channel_kind_unknown: ['invalid', 'There is no such kind of channel.'],
  mute_invalid: ['invalid', 'The minutes of a mute must be from 1 to a week.'],
  report_mail_limit: ['conflict', 'There are 20 reports mailed to you; end one first.'],
  share_limit: ['conflict', 'There are 100 links to reports; revoke one first.'],
  already_published: ['conflict', 'It is published on this page already.'],
  name_taken: ['conflict', 'Another one has this name.'],
  join_token_used: ['conflict'],
  file_name_invalid: [
    'invalid',
    'The name of a file must be lowercase letters, digits and dashes.',
  ],
  reference_unknown: ['mismatch', 'A key names nothing in the file and no external id.'],
  managed_elsewhere: ['conflict', 'Another file manages this object.'],
  external_id_taken: ['conflict', 'Another one has this external id.'],
  ping_alias_taken: ['conflict', 'Another monitor has this ping address.'],
  type_differs: [
    'conflict',
    'The monitor of this external id has another type, which never changes.',
  ],
  email_taken: ['conflict'],
  account_exists: ['conflict'],
  password_missing: ['conflict'],
  identity_taken: ['conflict'],
  slug_taken: ['conflict', 'Another page has this address.'],
  domain_taken: ['conflict', 'Another page proved this domain.'],
  domain_missing: ['conflict', 'The page has no domain to look for.'],
  incident_not_published: [
    'conflict',
    'The page does not show this incident: its monitor is not on it, or it is not confirmed.',
  ],
  last_owner: ['conflict', 'An organisation keeps at least one owner.'],
  organisations_enough: ['conflict'],
  email_unproven: ['conflict'],
  organisation_ending: [
    'conflict',
    'The organisation will be deleted. Until then it is read-only, and an owner may undo the deletion.',
  ],
  organisation_not_ending: ['conflict'],
  webhook_disabled: ['conflict', 'The webhook is turned off; turn it on first.'],
  incident_over: ['conflict', 'The incident is over, or was never confirmed.'],
  already_member: ['conflict', 'The address is that of a member already.'],
  second_factor_on: ['conflict'],
  second_factor_off: ['conflict'],
  passkeys_impossible: ['conflict'],
  mail_missing: ['conflict', 'Mail is not set up on this installation.'],
  secret_key_unknown: ['conflict'],
  idempotency_key_in_use: [
    'conflict',
    'A call with this `Idempotency-Key` is being worked on; send it again in a moment.',
  ],
  idempotency_answer_too_large: [
    'conflict',
    'The call under this `Idempotency-Key` was answered before; its answer was too large to keep, alone or with those that came since.',
  ],
  idempotency_key_reused: [
    'mismatch',
    'This `Idempotency-Key` was sent with another request; give each request a key of its own.',
  ],
  channel_test_failed: [
    'mismatch',
    'The test message was not delivered, and nothing is saved; the message says why, and `try: false` saves it all the same.',
  ],
  test_limit: ['limited', 'An organisation may run ten tests a minute.'],
  channel_test_limit: [
    'limited',
    'An organisation asks mailboxes and tests channels and webhooks ten times an hour, and one mailbox three times a day.',
  ],
  rate_limited: ['limited', 'Too many calls; wait as long as `Retry-After` says.'],
  too_many_attempts: ['limited', 'Too many tries; wait as long as `Retry-After` says.'],
  body_too_large: [
    'too_large',
    'The body is larger than 64 KiB, or than 2 MiB where many things may be named.',
  ],
  headers_too_large: ['too_large', 'The headers are larger than 16 KiB.'],
  method_not_allowed: ['wrong_method', 'This route answers to other methods; `Allow` names them.'],
  unavailable: [
    'unavailable',
    'The database or the bus does not answer; wait as long as `Retry-After` says.',
  ],
  internal: ['internal', 'Something went wrong on our side.'],
} as const satisfies Record<string, readonly [kind: RefusalKind, meaning?: string]>;

export type RefusalCode = keyof typeof refusalCodes;

/** Each refused field with what is valid there. */
export type Remedies = Readonly<Record<string, string>>;

/**
 * A request that is understood and not granted. The message is for people: it names the fields and
 * what is valid, and is composed of the remedies unless it is given.
 */
export class Refusal extends Error {
  readonly code: RefusalCode;
  /** None when it is not about a field. */
  readonly remedies: Remedies;
  /** After how many seconds the same request would be granted, where that is known. */
  readonly waitS: number | undefined;

  constructor(
    code: RefusalCode,
    said: string | Remedies,
    { waitS, message }: { readonly waitS?: number; readonly message?: string } = {},
  ) {
    super(message ?? (typeof said === 'string' ? said : sentenceOf(said)));
    this.name = 'Refusal';
    this.code = code;
    this.remedies = typeof said === 'string' ? {} : said;
    this.waitS = waitS;
  }

  get kind(): RefusalKind {
    return refusalCodes[this.code][0];
  }
}

function sentenceOf(remedies: Remedies): string {
  return Object.entries(remedies)
    .map(([field, remedy]) => `${field}: ${remedy}`)
    .join('; ');
}
