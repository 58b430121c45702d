import type { Page } from '../../web-page.ts';
import { confirm, confirmPage } from './page-coming-in-confirm.ts';
import { enterByButton, enterPage } from './page-coming-in-enter.ts';
import { join, joinPage } from './page-coming-in-join.ts';
import { passkeyIn, passkeyInOptions, passkeyProof, passkeyProofOptions } from './page-coming-in-passkey.ts';
import { forgot, forgotPage, reset, resetPage } from './page-coming-in-passwords.ts';
import { secondStep, secondStepPage } from './page-coming-in-second-step.ts';
import { signIn, signInPage, signOut, signOutPage } from './page-coming-in-sign-in.ts';
import { finish, finishPage, signUp, signUpInvited, signUpPage } from './page-coming-in-sign-up.ts';
import { keep, keepPage, verify, verifyPage } from './page-coming-in-verify.ts';

/** How people come in and go. */
export const comingIn: readonly Page[] = [
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
