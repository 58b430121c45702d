import { visitorOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { comeIn, entryCard, entryPage, isSecure, nextOf } from '../../parts/part-entry-card.ts';
import { cookie, cookieOf } from '../../web-cookies.ts';
import { noForm } from '../../web-form-data.ts';
import { attempt, type FormState, formSummary, freshForm, hiddenField, textField } from '../../web-forms.ts';
import { type Html, html, query, safeUrl } from '../../web-html.ts';
import { type OpenRequest, type Page, type PageAnswer, type PageRequest, type SeeOther, seeOther } from '../../web-page.ts';

/** Says that its browser gave the right password a moment ago. */
const stepCookie = 'second_step';
/** Longer than the step itself is good, so that whoever comes late is told so. */
const cookieSeconds = 3_600;
const path = '/sign-in/second-step';

export const askForSecondStep = (request: PageRequest, step: string, next: string): SeeOther =>
  seeOther(`${path}${query({ next })}`, {
    headers: { 'set-cookie': cookie(stepCookie, step, { seconds: cookieSeconds, secure: isSecure(request) }) },
  });

/** Whoever is in needs it no more. */
export const endOfStep = (request: PageRequest): string => cookie(stepCookie, '', { seconds: 0, secure: isSecure(request) });

const appForm = (state: FormState): Html =>
  textField({
    ...{ name: 'code', label: 'Code', autocomplete: 'one-time-code', inputmode: 'numeric', required: true, autofocus: true, state },
    help: 'The six digits that your app shows for Antipode.',
  });

const recoveryForm = (state: FormState): Html =>
  textField({
    ...{ name: 'code', label: 'Recovery code', autocomplete: 'off', required: true, autofocus: true, state },
    help: 'One of the ten that you were shown when you set this up. Each is good once.',
  });

const page = (state: FormState, next: string, isRecovery: boolean): PageAnswer =>
  entryPage(
    'Second step',
    entryCard(
      'One more step',
      formSummary(state),
      html`<form class="form" method="post" action="/sign-in/second-step">${hiddenField('next', next)}${isRecovery && hiddenField('with', 'recovery')}
${isRecovery ? recoveryForm(state) : appForm(state)}
<div class="actions"><button class="button button-main">Sign in</button></div></form>
<p class="entry-foot">${
        isRecovery
          ? html`Neither app nor codes? Whoever runs this installation can let you in. <a href="${safeUrl(`${path}${query({ next })}`)}">Use the app</a>`
          : html`The app is away? <a href="${safeUrl(`${path}${query({ next, with: 'recovery' })}`)}">Use a recovery code</a>`
      }</p>`,
    ),
    { status: state.status, headers: { 'cache-control': 'no-store' } },
  );

const stepOf = ({ cookies }: OpenRequest): string | undefined => cookieOf(cookies, stepCookie);

export const secondStepPage: Page = {
  method: 'GET',
  path,
  needs: 'nobody',
  answer: (request) => {
    const { next, with: by } = request.query;
    return stepOf(request) === undefined
      ? seeOther(`/sign-in${query({ next: nextOf(next) })}`)
      : page(freshForm(noForm), nextOf(next), by === 'recovery');
  },
};

const leftWords = (left: number | null): string | undefined => {
  if (left === null) return undefined;
  const many = left === 0 ? 'no recovery code is' : left === 1 ? 'one recovery code is' : `${left} recovery codes are`;
  return `You are signed in, and ${many} left. New ones are in your profile.`;
};

export const secondStep: Page = {
  method: 'POST',
  path,
  needs: 'nobody',
  answer: async (request) => {
    const { form, askAsVisitor } = request;
    const [next, step] = [nextOf(form.value('next')), stepOf(request)];
    const again = seeOther(`/sign-in${query({ next })}`, { headers: { 'set-cookie': endOfStep(request) } });
    if (step === undefined) return again;
    const tried = await attempt(
      form,
      () => askAsVisitor(visitorOperations.finishSignIn, { secret: step, code: form.value('code') ?? '' }),
      ['code'],
    );
    if ('done' in tried) {
      const { session, recovery_codes_left } = tried.done;
      return comeIn(request, session, next, leftWords(recovery_codes_left), [endOfStep(request)]);
    }
    const { status, objections } = tried.refused;
    return status === 404 ? { ...again, said: objections[0] } : page(tried.refused, next, form.value('with') === 'recovery');
  },
};
