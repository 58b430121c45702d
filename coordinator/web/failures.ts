import { InvalidInput, statusOf } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { heading, linkButton } from './elements.ts';
import { html, icon, type Part } from './html.ts';
import { type ShownPage, show } from './page.ts';

export const notFoundAnswer: ShownPage = saying(
  404,
  'Page not found',
  'Page not found',
  'Nothing is at this address. It may have been deleted, or belong to another of your organisations.',
  html`
    <form class="search search-form" action="/search" role="search">
      ${icon('search')}
      <input type="search" name="q" aria-label="Search" placeholder="Search" autocomplete="off">
    </form>
  `,
);

/** A page that says what is not possible, and offers a way on. */
function saying(
  status: number,
  title: string,
  sentence: string,
  below: Part,
  more: Part = null,
): ShownPage {
  return show({
    status,
    title,
    main: html`
      <div class="card stack question">
        ${heading({ sentence, below })}
        ${more}
        <p class="actions">${linkButton('/', 'Go to monitors', { main: true })}</p>
      </div>
    `,
  });
}

export const foreignAnswer: ShownPage = saying(
  403,
  'Blocked',
  'Blocked: this form came from another site',
  'Changes are accepted only from pages of this service. If you meant it, open the page here and try again.',
);

/** For a user who was removed from their last organisation, or signed in without its provider. */
export const noOrganisationAnswer: ShownPage = saying(
  403,
  'No organisation',
  'No organisation yet',
  html`
    Ask an owner or admin to invite you, then open the link in the invitation. If you are a member
    already, <a href="/organisations">sign in with its provider</a>.
  `,
);

const unavailable: ShownPage = saying(
  503,
  'Unavailable',
  'The database does not answer',
  'Your request is fine. Try again in a moment. If you changed something, check first whether it was saved.',
);

/**
 * A failure as a page. `hidden` is set for an error of our own: it goes to the log, under the id
 * that the page shows.
 */
export function failureAnswer(error: unknown): {
  readonly shown: ShownPage;
  readonly hidden?: { readonly request_id: string; readonly error: unknown };
} {
  // An invalid id or page number cannot exist.
  if (error instanceof InvalidInput) return { shown: notFoundAnswer };
  if (error instanceof Refusal && error.kind !== 'internal') {
    if (error.kind === 'not_found') return { shown: notFoundAnswer };
    if (error.kind === 'unavailable') return { shown: unavailable };
    if (error.kind === 'forbidden') return { shown: forbidden(error) };
    return { shown: saying(statusOf[error.kind], 'Not done', 'That did not work', error.message) };
  }
  if (
    error instanceof Error &&
    'statusCode' in error &&
    typeof error.statusCode === 'number' &&
    error.statusCode < 500
  )
    return { shown: unreadable(error.statusCode) };
  const request_id = newId();
  const shown = saying(
    500,
    'Internal error',
    'Something went wrong on our side',
    html`
      Please try again. If it fails again, send this request ID to the operator of this
      service: <code>${request_id}</code>.
    `,
  );
  return { shown, hidden: { request_id, error } };
}

function forbidden(refusal: Refusal): ShownPage {
  return saying(403, 'Not allowed', 'Not allowed for your role', refusal.message);
}

function unreadable(status: number): ShownPage {
  return saying(
    status,
    'Invalid request',
    'Invalid request',
    'The form is too long, or not one of this service.',
  );
}
