import { connectionPages, connectPages } from './assistants/pages.ts';
import { groupListPages, groupPages } from './groups/pages.ts';
import { about } from './health/about-page.ts';
import { acknowledge, incident, share, sharedIncident, withdrawShare, writeNote } from './incidents/pages/detail.ts';
import { incidents } from './incidents/pages/list.ts';
import { windowFormPages } from './maintenance/pages/form.ts';
import { maintenancePage } from './maintenance/pages/list.ts';
import { windowPages } from './maintenance/pages/window.ts';
import { changeChosen, dashboard, robots } from './monitors/pages/dashboard.ts';
import { monitorActs, monitorPages } from './monitors/pages/detail.ts';
import { monitorFormPages } from './monitors/pages/form.ts';
import { channelFormPages, channelPages } from './notifications/pages/channel.ts';
import { browserPages } from './notifications/pages/form.ts';
import { alertLinkPages } from './notifications/pages/links.ts';
import { channelsPage, mute, unmute } from './notifications/pages/list.ts';
import { dropSetAsidePage, operatorPage, retrySetAsidePage, setAsidePage } from './operator/pages.ts';
import { auditFile, auditPage } from './organisations/pages/audit.ts';
import { memberPages } from './organisations/pages/members.ts';
import { deleteIt, deletePage, edit, editPage, exportFile, exportPage, keepIt, organisationPage } from './organisations/pages/settings.ts';
import {
  endAllOthers,
  endOneSession,
  newOrganisation,
  newOrganisationPage,
  organisationsPage,
  profileEmail,
  profileName,
  profilePage,
  profilePassword,
  sessionsPage,
  switchOrganisation,
  writeProfileEmail,
  writeProfileName,
  writeProfilePassword,
} from './people/pages/profile.ts';
import {
  dropPasskey,
  newCodes,
  newCodesPage,
  newPasskey,
  newPasskeyOptions,
  newPasskeyPage,
  passkeysPage,
  removePasskeyPage,
  setUp,
  setUpPage,
  turnOff,
  turnOffPage,
  twoStepPage,
} from './people/pages/security.ts';
import {
  confirm,
  confirmPage,
  enterByButton,
  enterPage,
  passkeyIn,
  passkeyInOptions,
  passkeyProof,
  passkeyProofOptions,
  secondStep,
  secondStepPage,
  signIn,
  signInPage,
  signOut,
  signOutPage,
} from './people/pages/sign-in.ts';
import {
  finish,
  finishPage,
  forgot,
  forgotPage,
  join,
  joinPage,
  keep,
  keepPage,
  reset,
  resetPage,
  signUp,
  signUpInvited,
  signUpPage,
  verify,
  verifyPage,
} from './people/pages/sign-up.ts';
import { probeEndPages, probeInvitationPages, probesPage } from './probes/pages.ts';
import { searchPage } from './search/page.ts';
import { editorActs, statusPageEditor } from './status-pages/pages/editor.ts';
import { deletePages, statusPageList } from './status-pages/pages/list.ts';
import { postPages } from './status-pages/pages/posts.ts';
import { tokenPages } from './tokens/pages.ts';
import type { Page } from './web/page.ts';
import { choosePreferences, favicon, faviconOfOld, manifestPage } from './web/small-pages.ts';

/** Channels, rules and sent notifications. */
export const alertPages: readonly Page[] = [
  channelsPage,
  mute,
  unmute,
  ...channelFormPages,
  ...browserPages,
  ...channelPages,
  ...alertLinkPages,
];

/** Pages for signing in, up and out. */
export const signInPages: readonly Page[] = [
  ...[
    signInPage,
    signIn,
    secondStepPage,
    secondStep,
    passkeyInOptions,
    passkeyIn,
    passkeyProofOptions,
    passkeyProof,
    signOutPage,
    signOut,
    enterPage,
    enterByButton,
    confirmPage,
    confirm,
  ],
  ...[signUpPage, signUpInvited, signUp, finishPage, finish, forgotPage, forgot, resetPage, reset],
  ...[verifyPage, verify, keepPage, keep, joinPage, join],
];

export const pagesOfGroups: readonly Page[] = [...groupListPages, ...groupPages];

export const maintenancePages: readonly Page[] = [maintenancePage, ...windowFormPages, ...windowPages];

export const operatorPages: readonly Page[] = [operatorPage, setAsidePage, dropSetAsidePage, retrySetAsidePage];

export const organisationPages: readonly Page[] = [
  ...[organisationPage, editPage, edit, exportPage, exportFile, auditPage, auditFile, deletePage, deleteIt, keepIt],
];

/** Pages of a person's own account. */
export const ownPages: readonly Page[] = [
  ...[profilePage, profileName, writeProfileName, profileEmail, writeProfileEmail, profilePassword, writeProfilePassword],
  ...[twoStepPage, setUpPage, setUp, newCodesPage, newCodes, turnOffPage, turnOff],
  ...[passkeysPage, newPasskeyPage, newPasskeyOptions, newPasskey, removePasskeyPage, dropPasskey],
  ...[sessionsPage, endAllOthers, endOneSession, organisationsPage, switchOrganisation, newOrganisationPage, newOrganisation],
];

export const statusPages: readonly Page[] = [...statusPageList, statusPageEditor, ...editorActs, ...postPages, ...deletePages];

/** Every page, one on each row. */
export const pages: readonly Page[] = [
  dashboard,
  changeChosen,
  searchPage,
  incidents,
  incident,
  acknowledge,
  writeNote,
  share,
  withdrawShare,
  ...monitorFormPages,
  ...monitorPages,
  ...monitorActs,
  ...maintenancePages,
  ...pagesOfGroups,
  probesPage,
  ...probeInvitationPages,
  ...probeEndPages,
  ...alertPages,
  ...statusPages,
  sharedIncident,
  about,
  choosePreferences,
  ...signInPages,
  ...ownPages,
  ...memberPages,
  ...tokenPages,
  ...connectionPages,
  ...connectPages,
  ...organisationPages,
  ...operatorPages,
  favicon,
  faviconOfOld,
  robots,
  manifestPage,
];
