/**
 * What the audit log says of each operation that changes something: past tense, with the name of
 * the thing behind it ("Created monitor Shop"). A new operation needs a sentence here; null leaves
 * it out of the log that people read, as tests change nothing.
 */
const sentences: Readonly<Record<string, string | null>> = {
  createMonitor: 'Created monitor',
  updateMonitor: 'Edited monitor',
  deleteMonitor: 'Deleted monitor',
  batchMonitors: 'Created or edited several monitors',
  changeMonitors: 'Changed several monitors',
  undoChange: 'Undid a change of several monitors',
  rotateBeatAddress: 'Changed the ping address of monitor',
  tryMonitor: null,

  createGroup: 'Created group',
  updateGroup: 'Edited group',
  deleteGroup: 'Deleted group',

  createEvent: 'Recorded deploy',

  acknowledgeIncident: 'Acknowledged incident',
  acknowledgeByLink: 'Acknowledged incident from a message',
  addIncidentNote: 'Added a note to an incident',
  shareIncident: 'Shared incident',
  withdrawIncidentShare: 'Stopped sharing incident',

  createMaintenanceWindow: 'Scheduled maintenance',
  updateMaintenanceWindow: 'Edited maintenance',
  deleteMaintenanceWindow: 'Deleted maintenance',
  startMaintenanceNow: 'Started maintenance',
  endMaintenanceNow: 'Ended maintenance',

  createChannel: 'Created channel',
  updateChannel: 'Edited channel',
  deleteChannel: 'Deleted channel',
  testChannel: null,
  tryChannel: null,
  askMailbox: 'Asked again to confirm the address of channel',
  confirmChannel: 'Confirmed the address of channel',
  unsubscribe: 'Unsubscribed from alerts',
  setMonitorChannels: 'Changed the channels of monitor',
  muteAlerts: 'Muted all alerts',
  unmuteAlerts: 'Unmuted alerts',

  createStatusPage: 'Created status page',
  updateStatusPage: 'Edited status page',
  deleteStatusPage: 'Deleted status page',
  addStatusPageMonitor: 'Added a monitor to a status page:',
  updateStatusPageMonitor: 'Renamed a monitor on a status page:',
  removeStatusPageMonitor: 'Removed a monitor from a status page:',
  addStatusPageGroup: 'Added a group to a status page:',
  updateStatusPageGroup: 'Renamed a group on a status page:',
  removeStatusPageGroup: 'Removed a group from a status page:',
  orderStatusPage: 'Reordered a status page',
  checkStatusPageDomain: 'Checked the domain of a status page',
  renewStatusPageLink: 'Renewed the private link of a status page',
  setStatusPageLogo: 'Changed the logo of a status page',
  removeStatusPageLogo: 'Removed the logo of a status page',
  createStatusPagePost: 'Posted to a status page',
  deleteStatusPagePost: 'Deleted a post from a status page',

  inviteProbe: 'Invited private probe',
  revokeProbeInvitation: 'Revoked the invitation of a private probe',
  endProbe: 'Deleted private probe',
  enrolProbe: 'Joined as a probe:',
  createProbe: 'Created probe',
  rotateProbe: 'Renewed the credentials of probe',
  revokeProbe: 'Revoked probe',
  trustProbe: 'Changed the trust in the location of probe',
  invitePublicProbe: 'Invited public probe',
  revokeAnyProbeInvitation: 'Revoked the invitation of a probe',

  createOrganisation: 'Created organisation',
  foundOrganisation: 'Created organisation',
  updateOrganisation: 'Edited the organisation',
  endOrganisation: 'Deleted the organisation',
  keepOrganisation: 'Undid the deletion of the organisation',
  beginExport: 'Exported the organisation',
  createUser: 'Created user',
  setMemberRole: 'Changed the role of',
  inviteMember: 'Invited',
  withdrawInvitation: 'Revoked the invitation of',
  acceptInvitation: 'Accepted an invitation',
  removeMember: 'Removed member',
  leaveOrganisation: 'Left the organisation',
  switchOrganisation: 'Switched to another organisation',

  createToken: 'Created API token',
  revokeToken: 'Revoked API token',
  connectAssistant: 'Connected assistant',
  disconnectAssistant: 'Disconnected assistant',

  signUp: 'Signed up',
  finishSignUp: 'Finished signing up',
  signIn: 'Signed in',
  finishSignIn: 'Signed in with two-step verification',
  signInByPasskey: 'Signed in with a passkey',
  enter: 'Signed in with a link',
  createSignInLink: 'Created a sign-in link',
  signOut: 'Signed out',
  endSession: 'Signed out a browser',
  endOtherSessions: 'Signed out all other browsers',
  proveAgain: 'Confirmed the password',
  proveByPasskey: 'Confirmed with a passkey',
  addPasskey: 'Added passkey',
  removePasskey: 'Removed passkey',
  startSecondFactor: 'Turned on two-step verification',
  replaceRecoveryCodes: 'Created new recovery codes',
  endSecondFactor: 'Turned off two-step verification',
  proposeSecondFactor: null,
  updateProfile: 'Changed the profile name',
  changeEmail: 'Changed the e-mail address',
  verifyEmail: 'Confirmed the e-mail address',
  keepEmail: 'Kept the e-mail address',
  changePassword: 'Changed the password',
  requestPasswordReset: 'Requested a new password',
  resetPassword: 'Reset the password',

  markOperator: 'Made operator:',
  unmarkOperator: 'Removed operator:',
  sayOutageFalse: 'Changed whether an outage was a false alarm',
  retrySetAside: 'Retried failed messages',
  dropSetAside: 'Deleted failed messages',
};

export const hasAuditSentence = (operation: string): boolean => Object.hasOwn(sentences, operation);

/** An operation that no longer exists is called by its id. */
export const auditSentence = (operation: string): string => sentences[operation] ?? operation;

/** What people are not shown. */
export const unlistedOperations: readonly string[] = Object.keys(sentences).filter(
  (operation) => sentences[operation] === null,
);

/** The names of settings as the forms have them. */
const fields: Readonly<Record<string, string>> = {
  accent: 'Accent colour',
  alert_after_s: 'Alert after',
  basic_auth: 'User name and password',
  body_contains: 'Body contains',
  continents: 'Locations',
  delay_s: 'Delay',
  email: 'E-mail',
  ends_at: 'Ends',
  enabled: 'On',
  expected_rcode: 'Response code',
  expected_status: 'Accepted status codes',
  expires_at: 'Expires',
  external_id: 'External ID',
  grace_s: 'Grace period',
  group_id: 'Group',
  header_contains: 'Response headers',
  interval_s: 'Check every',
  ip_family: 'IP version',
  max_response_ms: 'Slowest response',
  max_run_s: 'Longest run',
  min_ttl: 'Lowest TTL',
  own: 'Owner: only me',
  resolver: 'Name server',
  rrule: 'Recurrence',
  runbook_url: 'Runbook',
  scope: 'Access',
  slug: 'Address',
  starts_at: 'Starts',
  target: 'Address',
  timeout_s: 'Timeout',
  timezone: 'Time zone',
  tls_expires_within_days: 'Certificate expires within',
  try: 'Test first',
  verify_tls: 'Valid certificate',
};

/** `config.timeout_s` → Timeout. */
export const fieldName = (key: string): string => {
  const own = key.replace(/^config\./, '');
  const words = fields[own] ?? own.replaceAll(/[._]/g, ' ').replace(/ s$/, '');
  return words.replace(/^./, (letter) => letter.toUpperCase());
};
