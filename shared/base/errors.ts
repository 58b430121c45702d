/**
 * The code that the system, the database or a library gave to an error, such as ENOENT; `otherwise`
 * where it has none.
 */
export const codeOf = (error: unknown, otherwise = ''): string =>
  error instanceof Error && 'code' in error ? String(error.code) : otherwise;

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
 * Every code that a caller may branch on, with its kind of refusal. Codes are stable: add, never
 * rename.
 */
export const refusalCodes = {
  token_missing: 'unauthenticated',
  token_invalid: 'unauthenticated',
  scope_insufficient: 'forbidden',
  role_insufficient: 'forbidden',
  session_missing: 'forbidden',
  sign_up_closed: 'forbidden',
  proof_needed: 'forbidden',
  origin_foreign: 'forbidden',
  plan_limit_monitors: 'forbidden',
  plan_limit_interval: 'forbidden',
  plan_limit_status_pages: 'forbidden',
  plan_limit_members: 'forbidden',
  plan_limit_private_probes: 'forbidden',
  plan_limit_channels: 'forbidden',
  plan_limit_groups: 'forbidden',
  plan_limit_windows: 'forbidden',
  plan_limit_occurrences: 'forbidden',
  organisation_not_found: 'not_found',
  user_not_found: 'not_found',
  member_not_found: 'not_found',
  token_not_found: 'not_found',
  connection_not_found: 'not_found',
  link_invalid: 'not_found',
  second_step_over: 'not_found',
  invitation_not_found: 'not_found',
  join_token_invalid: 'not_found',
  join_token_expired: 'not_found',
  session_not_found: 'not_found',
  passkey_not_found: 'not_found',
  probe_not_found: 'not_found',
  monitor_not_found: 'not_found',
  incident_not_found: 'not_found',
  maintenance_window_not_found: 'not_found',
  group_not_found: 'not_found',
  status_page_not_found: 'not_found',
  status_page_monitor_not_found: 'not_found',
  status_page_group_not_found: 'not_found',
  status_page_post_not_found: 'not_found',
  set_aside_not_found: 'not_found',
  trial_not_found: 'not_found',
  share_not_found: 'not_found',
  channel_not_found: 'not_found',
  message_not_found: 'not_found',
  mute_not_found: 'not_found',
  route_not_found: 'not_found',
  monitor_type_unknown: 'invalid',
  target_invalid: 'invalid',
  target_forbidden: 'invalid',
  config_invalid: 'invalid',
  interval_out_of_range: 'invalid',
  name_invalid: 'invalid',
  description_invalid: 'invalid',
  rrule_invalid: 'invalid',
  window_invalid: 'invalid',
  nobody_can_check: 'invalid',
  external_id_invalid: 'invalid',
  tags_invalid: 'invalid',
  position_invalid: 'invalid',
  request_malformed: 'invalid',
  time_zone_invalid: 'invalid',
  email_invalid: 'invalid',
  password_invalid: 'invalid',
  role_unknown: 'invalid',
  scope_unknown: 'invalid',
  sign_in_failed: 'invalid',
  code_invalid: 'invalid',
  passkey_refused: 'invalid',
  passkey_unknown: 'invalid',
  join_proof_invalid: 'invalid',
  expiry_invalid: 'invalid',
  plan_unknown: 'invalid',
  continent_unknown: 'invalid',
  slug_invalid: 'invalid',
  accent_invalid: 'invalid',
  logo_invalid: 'invalid',
  domain_invalid: 'invalid',
  order_invalid: 'invalid',
  post_invalid: 'invalid',
  not_a_heartbeat: 'invalid',
  trial_impossible: 'invalid',
  note_invalid: 'invalid',
  hours_invalid: 'invalid',
  channel_invalid: 'invalid',
  channel_kind_unknown: 'invalid',
  mute_invalid: 'invalid',
  already_published: 'conflict',
  name_taken: 'conflict',
  join_token_used: 'conflict',
  external_id_taken: 'conflict',
  type_differs: 'conflict',
  email_taken: 'conflict',
  slug_taken: 'conflict',
  domain_taken: 'conflict',
  domain_missing: 'conflict',
  incident_not_published: 'conflict',
  last_owner: 'conflict',
  organisations_enough: 'conflict',
  email_unproven: 'conflict',
  organisation_ending: 'conflict',
  organisation_not_ending: 'conflict',
  incident_over: 'conflict',
  already_member: 'conflict',
  second_factor_on: 'conflict',
  second_factor_off: 'conflict',
  passkeys_impossible: 'conflict',
  mail_missing: 'conflict',
  secret_key_unknown: 'conflict',
  idempotency_key_in_use: 'conflict',
  idempotency_answer_too_large: 'conflict',
  idempotency_key_reused: 'mismatch',
  channel_test_failed: 'mismatch',
  trial_limit: 'limited',
  channel_test_limit: 'limited',
  rate_limited: 'limited',
  too_many_attempts: 'limited',
  body_too_large: 'too_large',
  headers_too_large: 'too_large',
  method_not_allowed: 'wrong_method',
  unavailable: 'unavailable',
  internal: 'internal',
} as const satisfies Record<string, RefusalKind>;

export type RefusalCode = keyof typeof refusalCodes;

/**
 * A request that is understood and not granted. The message is for people: it names the key and
 * what is valid.
 */
export class Refusal extends Error {
  readonly code: RefusalCode;
  /** After how many seconds the same request would be granted, where that is known. */
  readonly waitS: number | undefined;

  constructor(code: RefusalCode, message: string, waitS?: number) {
    super(message);
    this.name = 'Refusal';
    this.code = code;
    this.waitS = waitS;
  }

  get kind(): RefusalKind {
    return refusalCodes[this.code];
  }
}
