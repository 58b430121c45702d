import type { Page } from '../../page.ts';
import { confirm, confirmPage } from './confirm.ts';
import { enterByButton, enterPage } from './enter.ts';
import { join, joinPage } from './join.ts';
import { passkeyIn, passkeyInOptions, passkeyProof, passkeyProofOptions } from './passkey.ts';
import { forgot, forgotPage, reset, resetPage } from './passwords.ts';
import { secondStep, secondStepPage } from './second-step.ts';
import { signIn, signInPage, signOut, signOutPage } from './sign-in.ts';
import { finish, finishPage, signUp, signUpInvited, signUpPage } from './sign-up.ts';
import { verify, verifyPage } from './verify.ts';

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
  ...[verifyPage, verify, joinPage, join],
];
