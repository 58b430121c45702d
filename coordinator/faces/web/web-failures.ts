import { InvalidInput, statusOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { html, type Part } from './web-html.ts';
import { heading, linkButton } from './web-layout.ts';
import { type Shown, show } from './web-page.ts';

/** A page that says what is not possible, and where to go on. */
const saying = (status: number, title: string, sentence: string, below: Part): Shown =>
  show({
    status,
    title,
    main: html`${heading({ sentence, below })}<p class="actions">${linkButton('/', 'To the monitors')}</p>`,
  });

export const notFoundAnswer: Shown = saying(
  404,
  'Not here',
  'There is nothing here.',
  'The address may be mistyped, or what it showed was deleted, or it belongs to another organisation than the one you are in.',
);

export const foreignAnswer: Shown = saying(
  403,
  'Not done',
  'This was not done, because another site sent it.',
  'A change is taken only from a page of this service. If you meant it, open the page here and do it again.',
);

/** For somebody who was taken out of the last organisation that they were in. */
export const nowhereAnswer: Shown = saying(
  403,
  'No organisation',
  'You belong to no organisation.',
  'Whoever runs one can invite you; the link in the invitation is all that you need.',
);

const unreadable = (status: number): Shown =>
  saying(status, 'Not understood', 'This could not be read.', 'What was sent is too long, or not what a form of this service sends.');

const unavailable: Shown = saying(
  503,
  'Not now',
  'The database does not answer right now.',
  'Nothing is wrong with what you asked for. Try again in a moment; if you changed something, look first whether it was done all the same.',
);

const forbidden = (refusal: Refusal): Shown => saying(403, 'Not allowed', 'You may not do this.', refusal.message);

/** A failure as a page. `hidden` is set for a fault of our own: it goes to the log, under the id that the page names. */
export const failureAnswer = (
  error: unknown,
): { readonly shown: Shown; readonly hidden?: { readonly request_id: string; readonly error: unknown } } => {
  // What is no id, or no page of a list, is nothing that could be there.
  if (error instanceof InvalidInput) return { shown: notFoundAnswer };
  if (error instanceof Refusal && error.kind !== 'internal') {
    if (error.kind === 'not_found') return { shown: notFoundAnswer };
    if (error.kind === 'unavailable') return { shown: unavailable };
    if (error.kind === 'forbidden') return { shown: forbidden(error) };
    return { shown: saying(statusOf[error.kind], 'Not done', 'This was not done.', error.message) };
  }
  if (error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' && error.statusCode < 500)
    return { shown: unreadable(error.statusCode) };
  const request_id = newId();
  const shown = saying(
    500,
    'A fault of ours',
    'Something failed on our side.',
    html`Nothing is wrong with what you asked for. Please try again; if it fails again, tell whoever runs this service the number of this request: <code>${request_id}</code>.`,
  );
  return { shown, hidden: { request_id, error } };
};
