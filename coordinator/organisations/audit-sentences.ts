/**
 * What the audit log says of each operation that changes something: past tense, with the name of
 * the thing behind it ("Created monitor Shop"). A new operation needs a sentence here; null leaves
 * it out of the log that people read, as tests change nothing.
 */
const sentences: Readonly<Record<string, string | null>> = {
  createMonitor: 'Created monitor',
  updateMonitor: 'Edited monitor',
  deleteMonitor: 'Deleted monitor',
  restoreMonitor: 'Restored monitor',
  purgeMonitor: 'Deleted from the trash: monitor',
  batchMonitors: 'Created or edited several monitors',
  changeMonitors: 'Changed several monitors',
  undoChange: 'Undid a change of several monitors',
  muteMonitor: 'Muted monitor',
  unmuteMonitor: 'Unmuted monitor',
  rotateBeatAddress: 'Changed ping address of monitor',
  // Entries of before are stored under the older id.
  tryMonitor: null,
  createTest: null,

  createGroup: 'Created group',
  updateGroup: 'Edited group',
  deleteGroup: 'Deleted group',

  createEvent: 'Recorded deploy',

  acknowledgeIncident: 'Acknowledged incident',
  acknowledgeByLink: 'Acknowledged incident from a message',
  addIncidentNote: 'Added note to incident',
  unacknowledgeIncident: 'Handed back incident',
  assignIncident: 'Assigned incident',
  writePostMortem: 'Edited post-mortem of incident',
  shareIncident: 'Shared incident',
  withdrawIncidentShare: 'Stopped sharing incident',
  shareReport: 'Shared a report',
  withdrawReportShare: 'Stopped sharing a report',
  mailReport: 'Subscribed to the report',
  endReportMail: 'Unsubscribed from the report',
  leaveReportMail: 'Unsubscribed from the report',
  createObjective: 'Created objective',
  updateObjective: 'Edited objective',
  deleteObjective: 'Deleted objective',

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
  askMailbox: 'Asked again to confirm channel',
  confirmChannel: 'Confirmed channel',
  unsubscribe: 'Unsubscribed from alerts',
  setMonitorChannels: 'Changed channels of monitor',
  muteAlerts: 'Muted all alerts',
  unmuteAlerts: 'Unmuted alerts',

  putGroups: 'Created or edited several groups',
  putMonitors: 'Created or edited several monitors',
  planFile: null,
  applyFile: 'Applied file',

  createWebhook: 'Created webhook',
  updateWebhook: 'Edited webhook',
  deleteWebhook: 'Deleted webhook',
  rotateWebhookSecret: 'Replaced secret of webhook',
  testWebhook: null,
  resendWebhookDelivery: 'Queued an event again for webhook',
  replayWebhook: 'Replayed events to webhook',

  createStatusPage: 'Created status page',
  updateStatusPage: 'Edited status page',
  deleteStatusPage: 'Deleted status page',
  addStatusPageMonitor: 'Published monitor',
  updateStatusPageMonitor: 'Renamed published monitor',
  removeStatusPageMonitor: 'Unpublished monitor',
  addStatusPageGroup: 'Published group',
  updateStatusPageGroup: 'Renamed published group',
  removeStatusPageGroup: 'Unpublished group',
  orderStatusPage: 'Reordered status page',
  checkStatusPageDomain: 'Checked domain of status page',
  renewStatusPageLink: 'Renewed private link of status page',
  removeStatusPageSubscriber: 'Removed subscriber of status page',
  setStatusPageLogo: 'Changed logo of status page',
  removeStatusPageLogo: 'Removed logo of status page',
  createStatusPageReport: 'Created report on a status page:',
  updateStatusPageReport: 'Edited report on a status page:',
  addStatusPageReportUpdate: 'Posted an update to report',
  deleteStatusPageReport: 'Deleted report from a status page:',
  // It reads now; entries of before are stored.
  previewStatusPage: null,
  createStatusPagePost: 'Posted to status page',
  deleteStatusPagePost: 'Deleted post from status page',

  createPingKey: 'Created ping key',
  rotatePingKey: 'Replaced ping key',
  endPingKey: 'Ended ping key',
  refusePing: 'Could not create heartbeat of a ping:',

  inviteProbe: 'Invited private probe',
  revokeProbeInvitation: 'Revoked invitation of private probe',
  endProbe: 'Deleted private probe',
  updatePlace: 'Renamed private place',
  enrolProbe: 'Joined as probe',
  createProbe: 'Created probe',
  rotateProbe: 'Renewed credentials of probe',
  revokeProbe: 'Revoked probe',
  trustProbe: 'Changed trust in location of probe',
  setProbeRegion: 'Changed region of probe',
  invitePublicProbe: 'Invited public probe',
  revokeAnyProbeInvitation: 'Revoked invitation of probe',

  createOrganisation: 'Created organisation',
  foundOrganisation: 'Created organisation',
  updateOrganisation: 'Edited the organisation',
  endOrganisation: 'Deleted the organisation',
  hideFirstSteps: 'Hid the first steps',
  keepOrganisation: 'Undid the deletion of the organisation',
  beginExport: 'Exported the organisation',
  previewImport: null,
  applyImport: 'Imported from',
  undoImport: 'Undid import from',
  createUser: 'Created user',
  setMemberRole: 'Changed member role',
  inviteMember: 'Invited',
  withdrawInvitation: 'Revoked invitation',
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
  finishProviderSignIn: 'Signed in with a provider',
  endProviderSessions: 'Signed out by a provider',
  provisionUser: 'Provisioned user',
  provisionGroup: 'Provisioned group',
  setScimToken: 'Made SCIM token of the sign-in provider',
  endScimToken: 'Ended SCIM token of the sign-in provider',
  endProviderAccess: 'Ended sessions, tokens and assistants of a member whom the provider removed',
  followProviderGroups: 'Changed the role by groups of the provider',
  disconnectProvider: 'Disconnected provider',
  setSignInProvider: 'Edited sign-in provider',
  checkSignInDomain: 'Checked the domain of the sign-in provider',
  removeSignInProvider: 'Removed sign-in provider',
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

  markOperator: 'Made operator',
  unmarkOperator: 'Removed operator',
  sayOutageFalse: 'Changed whether an outage was a false alarm',
  retrySetAside: 'Retried failed messages',
  dropSetAside: 'Deleted failed messages',
};

export function hasAuditSentence(operation: string): boolean {
  return Object.hasOwn(sentences, operation);
}

/** An operation that no longer exists is called by its id. */
export function auditSentence(operation: string): string {
  return sentences[operation] ?? operation;
}

type Values = Readonly<Record<string, unknown>>;

/** What an entry says. */
export function entrySentence(
  operation: string,
  { before, after }: { readonly before: Values | null; readonly after: Values | null },
): string {
  const verb = operation === 'changeMonitors' ? bulkVerb(after ?? {}) : undefined;
  const names = after?.names ?? before?.names;
  return verb === undefined || !Array.isArray(names)
    ? auditSentence(operation)
    : `${verb} ${names.length === 1 ? 'monitor' : `${names.length} monitors`}`;
}

/** What a change of several monitors did, by what it wrote down. */
function bulkVerb(after: Values): string | undefined {
  if ('muted' in after) return after.muted === true ? 'Muted' : 'Unmuted';
  const verbs = {
    ...{ paused: 'Paused', resumed: 'Resumed', deleted: 'Deleted' },
    ...{ added: 'Tagged', removed: 'Untagged', group: 'Moved' },
  };
  return Object.entries(verbs).find(([key]) => key in after)?.[1];
}

/** What people are not shown. */
export const unlistedOperations: readonly string[] = Object.keys(sentences).filter(
  (operation) => sentences[operation] === null,
);

/** The names of settings as the forms have them. */
const fields: Readonly<Record<string, string>> = {
  accent: 'Accent colour',
  alert_after_s: 'Alert after',
  basic_auth: 'User name and password',
  begins: 'Token starts with',
  body_contains: 'Body contains',
  client_certificate: 'Client certificate',
  continents: 'Locations',
  delay_s: 'Delay',
  email: 'E-mail',
  ends_at: 'Ends',
  enabled: 'On',
  expected_rcode: 'Response code',
  expected_status: 'Accepted status codes',
  expires_at: 'Expires',
  external_id: 'External ID',
  fail_on: 'Treat as down',
  grace_s: 'Grace period',
  group_id: 'Group',
  header_contains: 'Response headers',
  interval_s: 'Check every',
  ip_family: 'IP version',
  max_response_ms: 'Slow after',
  max_run_s: 'Longest run',
  min_ttl: 'Lowest TTL',
  own: 'Owner: only me',
  resolver: 'Name server',
  rrule: 'Recurrence',
  scope: 'Access',
  slug: 'Address',
  starts_at: 'Starts',
  target: 'Address',
  timeout_s: 'Timeout',
  timezone: 'Time zone',
  tls_expires_within_days: 'Certificate expires within',
  try: 'Test first',
  verify_tls: 'Valid certificate',
  warn: 'Warn when slower than',
};

/** `config.timeout_s` → Timeout. */
export function fieldName(key: string): string {
  const own = key.replace(/^config\./, '');
  const words = fields[own] ?? own.replaceAll(/[._]/g, ' ').replace(/ s$/, '');
  return words.replace(/^./, (letter) => letter.toUpperCase());
}
