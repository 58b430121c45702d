import { visitorOperations } from '../../../../../shared/api/inner/inner-index.ts';
import { Refusal } from '../../../../../shared/base/errors.ts';
import { comeIn, entryCard, entryPage } from '../../parts/part-entry-card.ts';
import { html } from '../../web-html.ts';
import { linkButton } from '../../web-layout.ts';
import type { OpenRequest, Page, PageAnswer } from '../../web-page.ts';

/** Nobody keeps a page that holds a secret in its address. */
const headers = { 'cache-control': 'no-store' } as const;

const dead = ({ signedIn }: OpenRequest): PageAnswer =>
  entryPage(
    'Link used',
    entryCard(
      'This link was used already, or has ended.',
      html`<p class="entry-words">A link signs in once. Start the service anew for another, or ask for one on its machine:</p>
<pre class="entry-command"><code>npm run operator -- user sign-in-link --email you@example.org</code></pre>
<p class="actions">${signedIn ? linkButton('/', 'To the monitors', { main: true }) : linkButton('/sign-in', 'Sign in with a password', { main: true })}</p>`,
    ),
    { status: 404, headers },
  );

const act = async (request: OpenRequest): Promise<PageAnswer> => {
  try {
    const { session } = await request.askAsVisitor(visitorOperations.enter, { secret: request.path.secret });
    return comeIn(request, session, '/');
  } catch (error) {
    if (error instanceof Refusal && error.code === 'link_invalid') return dead(request);
    throw error;
  }
};

/** A click signs in at once. Whatever looks at addresses by itself (a preview, a scanner, a browser that runs ahead) gets a button, and uses nothing up. */
export const enterPage: Page = {
  method: 'GET',
  path: '/enter/:secret',
  needs: 'nobody',
  answer: (request) =>
    request.isByPerson
      ? act(request)
      : entryPage(
          'Enter',
          entryCard(
            'One click, and you are in.',
            html`<form class="form" method="post"><button class="button button-main">Enter</button></form>`,
          ),
          { headers },
        ),
};

export const enterByButton: Page = { method: 'POST', path: '/enter/:secret', needs: 'nobody', answer: act };
