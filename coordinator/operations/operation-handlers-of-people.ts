import { personOperations, visitorOperations } from '../../shared/api/inner/inner-index.ts';
import {
  acknowledgeByLink,
  confirmChannel,
  showAcknowledgement,
  showConfirmation,
  showUnsubscribing,
  unsubscribe,
} from './alerts/follow-alert-links.ts';
import { enter } from './coming-in/enter-by-link.ts';
import { finishSignIn } from './coming-in/finish-sign-in.ts';
import { signIn } from './coming-in/sign-in.ts';
import { beginPasskeySignIn, signInByPasskey } from './coming-in/sign-in-by-passkey.ts';
import { type Bound, bind, bindInSteps } from './operation-bind.ts';
import type { AtTheDoor, Oneself } from './operation-context.ts';
import { acceptInvitation } from './people/accept-invitation.ts';
import { addPasskey, beginPasskey, listPasskeys, removePasskey } from './people/add-passkey.ts';
import { connectAssistant } from './people/connect-assistant.ts';
import { endOtherSessions, endSession, signOut } from './people/end-sessions.ts';
import { foundOrganisation } from './people/found-organisation.ts';
import { listOwnOrganisations, switchOrganisation } from './people/list-own-organisations.ts';
import { listSessions } from './people/list-sessions.ts';
import { proveAgain } from './people/prove-again.ts';
import { beginProof, proveByPasskey } from './people/prove-by-passkey.ts';
import {
  endSecondFactor,
  proposeSecondFactor,
  replaceRecoveryCodes,
  showSecondFactor,
  startSecondFactor,
} from './people/start-second-factor.ts';
import { changeEmail, changePassword, showProfile, updateProfile } from './people/update-profile.ts';
import { enrolProbe } from './probes/enrol-probe.ts';
import { finishSignUp } from './signing-up/finish-sign-up.ts';
import { requestPasswordReset, resetPassword } from './signing-up/reset-password.ts';
import { showDoor, showInvitation, showLink } from './signing-up/show-sign-up-links.ts';
import { signUp } from './signing-up/sign-up.ts';
import { keepEmail, verifyEmail } from './signing-up/verify-email.ts';

/** The row of every operation that a person does to what is their own; a missing one does not compile. */
export const personHandlers: { readonly [Id in keyof typeof personOperations]: Bound<Oneself> } = {
  listSessions: bind(personOperations.listSessions, listSessions),
  signOut: bind(personOperations.signOut, signOut),
  endSession: bind(personOperations.endSession, endSession),
  endOtherSessions: bind(personOperations.endOtherSessions, endOtherSessions),
  proveAgain: bindInSteps(personOperations.proveAgain, proveAgain),
  listOwnOrganisations: bind(personOperations.listOwnOrganisations, listOwnOrganisations),
  foundOrganisation: bind(personOperations.foundOrganisation, foundOrganisation),
  switchOrganisation: bind(personOperations.switchOrganisation, switchOrganisation),
  acceptInvitation: bind(personOperations.acceptInvitation, acceptInvitation),
  showProfile: bind(personOperations.showProfile, showProfile),
  updateProfile: bind(personOperations.updateProfile, updateProfile),
  changeEmail: bindInSteps(personOperations.changeEmail, changeEmail),
  verifyEmail: bind(personOperations.verifyEmail, verifyEmail),
  changePassword: bindInSteps(personOperations.changePassword, changePassword),
  showSecondFactor: bind(personOperations.showSecondFactor, showSecondFactor),
  proposeSecondFactor: bind(personOperations.proposeSecondFactor, proposeSecondFactor),
  startSecondFactor: bind(personOperations.startSecondFactor, startSecondFactor),
  replaceRecoveryCodes: bind(personOperations.replaceRecoveryCodes, replaceRecoveryCodes),
  endSecondFactor: bind(personOperations.endSecondFactor, endSecondFactor),
  listPasskeys: bind(personOperations.listPasskeys, listPasskeys),
  beginPasskey: bind(personOperations.beginPasskey, beginPasskey),
  addPasskey: bindInSteps(personOperations.addPasskey, addPasskey),
  removePasskey: bind(personOperations.removePasskey, removePasskey),
  beginProof: bind(personOperations.beginProof, beginProof),
  proveByPasskey: bindInSteps(personOperations.proveByPasskey, proveByPasskey),
  connectAssistant: bind(personOperations.connectAssistant, connectAssistant),
};

/** Of somebody who is not signed in. */
export const visitorHandlers: { readonly [Id in keyof typeof visitorOperations]: Bound<AtTheDoor> } = {
  showAcknowledgement: bind(visitorOperations.showAcknowledgement, showAcknowledgement),
  acknowledgeByLink: bind(visitorOperations.acknowledgeByLink, acknowledgeByLink),
  showConfirmation: bind(visitorOperations.showConfirmation, showConfirmation),
  confirmChannel: bind(visitorOperations.confirmChannel, confirmChannel),
  showUnsubscribing: bind(visitorOperations.showUnsubscribing, showUnsubscribing),
  unsubscribe: bind(visitorOperations.unsubscribe, unsubscribe),
  signIn: bindInSteps(visitorOperations.signIn, signIn),
  finishSignIn: bindInSteps(visitorOperations.finishSignIn, finishSignIn),
  beginPasskeySignIn: bindInSteps(visitorOperations.beginPasskeySignIn, beginPasskeySignIn),
  signInByPasskey: bindInSteps(visitorOperations.signInByPasskey, signInByPasskey),
  enter: bind(visitorOperations.enter, enter),
  signUp: bindInSteps(visitorOperations.signUp, signUp),
  finishSignUp: bindInSteps(visitorOperations.finishSignUp, finishSignUp),
  requestPasswordReset: bindInSteps(visitorOperations.requestPasswordReset, requestPasswordReset),
  resetPassword: bindInSteps(visitorOperations.resetPassword, resetPassword),
  keepEmail: bind(visitorOperations.keepEmail, keepEmail),
  showLink: bind(visitorOperations.showLink, showLink),
  showInvitation: bind(visitorOperations.showInvitation, showInvitation),
  showDoor: bind(visitorOperations.showDoor, showDoor),
  enrolProbe: bindInSteps(visitorOperations.enrolProbe, enrolProbe),
};
