import { stateMark } from '../../web/elements.ts';
import { type Html, html, safeUrl } from '../../web/html.ts';
import type { MembersRequest } from '../../web/page.ts';
import { hideFirstSteps, showFirstSteps } from '../contract.ts';

/**
 * What a new organisation still lacks to be told of an outage for certain; null once all of it is
 * there, or when it was hidden. For those who can do something about it.
 */
export async function firstSteps({ ask, may }: MembersRequest): Promise<Html | null> {
  if (!may(hideFirstSteps)) return null;
  const { is_hidden, monitor, channel, colleague, continent } = await ask(showFirstSteps);
  const steps = [
    { done: monitor, href: '/monitors/new', words: 'Add a monitor' },
    { done: channel, href: '/alerts', words: 'Send a test to a channel' },
    { done: colleague, href: '/members/invite', words: 'Invite a colleague' },
    { done: continent, href: '/probes', words: 'Check from a second continent' },
  ];
  const left = steps.filter(({ done }) => !done).length;
  if (is_hidden || left === 0) return null;
  return html`
    <section class="card stack" id="first-steps">
      <div class="section-head">
        <h2>Get started: ${steps.length - left} of ${steps.length} done</h2>
        <form method="post" action="/first-steps/hide">
          <button class="button button-quiet">Hide</button>
        </form>
      </div>
      <ul class="row">
        ${steps.map(
          ({ done, href, words }) =>
            html`
              <li>
                ${
                  done
                    ? stateMark('up', words)
                    : html`<a class="button" href="${safeUrl(href)}">${words}</a>`
                }
              </li>
            `,
        )}
      </ul>
      ${
        !monitor &&
        html`<p class="soft">Moving from another service? <a href="/import">Import monitors</a></p>`
      }
    </section>
  `;
}
