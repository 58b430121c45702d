import { hearTrial, tryMonitor } from '../test-runs.ts';
import { createOrganisation, createUser, leaveOrganisation, removeMember, setMemberRole } from './inner-account.ts';
import {
  acknowledgeByLink,
  confirmChannel,
  showAcknowledgement,
  showConfirmation,
  showUnsubscribing,
  unsubscribe,
} from './inner-alert-links.ts';
import {
  explainAlerts,
  listMessages,
  listTold,
  listWouldBeTold,
  muteAlerts,
  showDelivery,
  showMessage,
  showMute,
  unmuteAlerts,
} from './inner-alerts.ts';
import { connectAssistant, disconnectAssistant, getConnection, listConnections } from './inner-assistant-connections.ts';
import { getAuditChoices, listAudit } from './inner-audit.ts';
import { askMailbox, getChannelChoices, listChannelKinds, testChannel, tryChannel } from './inner-channels.ts';
import { createSignInLink, enter, finishSignIn, signIn } from './inner-coming-in.ts';
import { changeMonitors, countOpenIncidents, listDashboard } from './inner-dashboard.ts';
import { listMonitorFigures } from './inner-figures.ts';
import { listGroupStandings, listMonitorsOutside, showGroup } from './inner-groups.ts';
import { dropSetAside, listNotices, listRefused, listSetAside, retrySetAside, showSetAside } from './inner-house.ts';
import { addIncidentNote, shareIncident, withdrawIncidentShare } from './inner-incidents.ts';
import { endMaintenanceNow, listMaintenanceByTime, showMaintenanceWindow, startMaintenanceNow } from './inner-maintenance.ts';
import { inviteMember, listInvitations, listMembers, withdrawInvitation } from './inner-members.ts';
import { getMonitorChoices } from './inner-monitors.ts';
import { listOrganisations, markOperator, showFigures, unmarkOperator } from './inner-operator.ts';
import { beginExport, endOrganisation, keepOrganisation, readExport, showOrganisation, updateOrganisation } from './inner-organisation.ts';
import { sayOutageFalse } from './inner-own-record.ts';
import {
  addPasskey,
  beginPasskey,
  beginPasskeySignIn,
  beginProof,
  listPasskeys,
  proveByPasskey,
  removePasskey,
  signInByPasskey,
} from './inner-passkeys.ts';
import {
  acceptInvitation,
  changeEmail,
  changePassword,
  endOtherSessions,
  endSession,
  foundOrganisation,
  listOwnOrganisations,
  listSessions,
  proveAgain,
  showProfile,
  signOut,
  switchOrganisation,
  updateProfile,
  verifyEmail,
} from './inner-people.ts';
import { getBeatAddress, listBeats, rotateBeatAddress } from './inner-pings.ts';
import {
  createProbe,
  enrolProbe,
  invitePublicProbe,
  listAllProbeInvitations,
  listCheckers,
  listProbes,
  revokeAnyProbeInvitation,
  revokeProbe,
  rotateProbe,
  showOwnProbe,
  trustProbe,
} from './inner-probes.ts';
import { search } from './inner-search.ts';
import { endSecondFactor, proposeSecondFactor, replaceRecoveryCodes, showSecondFactor, startSecondFactor } from './inner-second-factor.ts';
import {
  finishSignUp,
  keepEmail,
  requestPasswordReset,
  resetPassword,
  showDoor,
  showInvitation,
  showLink,
  signUp,
} from './inner-signing-up.ts';
import {
  getStatusPageEditor,
  getStatusPageIncident,
  getStatusPageLogo,
  listIncidentPages,
  listStatusPageOverviews,
  removeStatusPageLogo,
  setStatusPageLogo,
} from './inner-status-pages.ts';
import { createToken, getToken, listTokens, revokeToken } from './inner-tokens.ts';

/** What the API does not offer and pages and the operator's commands need; kept apart, so that the programs on people's machines do without. */

/** Done in an organisation, by somebody who may. */
export const innerOperations = {
  createUser,
  setMemberRole,
  removeMember,
  leaveOrganisation,
  listCheckers,
  showOwnProbe,
  listGroupStandings,
  showGroup,
  listMonitorsOutside,
  listMaintenanceByTime,
  showMaintenanceWindow,
  startMaintenanceNow,
  endMaintenanceNow,
  listMembers,
  listInvitations,
  inviteMember,
  withdrawInvitation,
  showOrganisation,
  updateOrganisation,
  endOrganisation,
  keepOrganisation,
  beginExport,
  readExport,
  listAudit,
  getAuditChoices,
  listTokens,
  getToken,
  createToken,
  revokeToken,
  listConnections,
  getConnection,
  disconnectAssistant,
  listStatusPageOverviews,
  getStatusPageEditor,
  getStatusPageIncident,
  getStatusPageLogo,
  setStatusPageLogo,
  removeStatusPageLogo,
  listIncidentPages,
  listMonitorFigures,
  getBeatAddress,
  rotateBeatAddress,
  listBeats,
  addIncidentNote,
  shareIncident,
  withdrawIncidentShare,
  getMonitorChoices,
  tryMonitor,
  hearTrial,
  listDashboard,
  countOpenIncidents,
  changeMonitors,
  search,
  listChannelKinds,
  getChannelChoices,
  testChannel,
  tryChannel,
  askMailbox,
  listMessages,
  showMessage,
  explainAlerts,
  listTold,
  listWouldBeTold,
  muteAlerts,
  unmuteAlerts,
  showDelivery,
  showMute,
} as const;

/** Done by a person to what is their own, in no organisation. */
export const personOperations = {
  listSessions,
  signOut,
  endSession,
  endOtherSessions,
  proveAgain,
  listOwnOrganisations,
  foundOrganisation,
  switchOrganisation,
  acceptInvitation,
  showProfile,
  updateProfile,
  changeEmail,
  verifyEmail,
  changePassword,
  showSecondFactor,
  proposeSecondFactor,
  startSecondFactor,
  replaceRecoveryCodes,
  endSecondFactor,
  listPasskeys,
  beginPasskey,
  addPasskey,
  removePasskey,
  beginProof,
  proveByPasskey,
  connectAssistant,
} as const;

/** Done by somebody who is not signed in. */
export const visitorOperations = {
  signIn,
  finishSignIn,
  beginPasskeySignIn,
  signInByPasskey,
  enter,
  signUp,
  finishSignUp,
  requestPasswordReset,
  resetPassword,
  keepEmail,
  showLink,
  showInvitation,
  showDoor,
  showAcknowledgement,
  acknowledgeByLink,
  showConfirmation,
  confirmChannel,
  showUnsubscribing,
  unsubscribe,
  enrolProbe,
} as const;

/** Done to the installation by an operator, at the browser as well as at the machine. */
export const operatorOperations = {
  listProbes,
  listNotices,
  listRefused,
  listSetAside,
  showSetAside,
  retrySetAside,
  dropSetAside,
  listOrganisations,
  showFigures,
} as const;

/** Done to the installation, by whoever is at the machine itself. */
export const installationOperations = {
  createOrganisation,
  createSignInLink,
  markOperator,
  unmarkOperator,
  createProbe,
  rotateProbe,
  revokeProbe,
  trustProbe,
  invitePublicProbe,
  listAllProbeInvitations,
  revokeAnyProbeInvitation,
  sayOutageFalse,
  ...operatorOperations,
} as const;
