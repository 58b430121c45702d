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
    {
      ...{ done: monitor, href: '/monitors/new', words: 'Add a monitor' },
      why: 'A website, a server, a DNS name or a scheduled job.',
    },
    {
      ...{ done: channel, href: '/alerts', words: 'Send a test to a channel' },
      why: 'You know that an alert reaches you before you need it.',
    },
    {
      ...{ done: colleague, href: '/members/invite', words: 'Invite a colleague' },
      why: 'Somebody else can take over an incident.',
    },
    {
      ...{ done: continent, href: '/probes', words: 'Check from a second continent' },
      why: 'An outage counts only when another continent confirms it.',
    },
  ];
  const left = steps.filter(({ done }) => !done).length;
  if (is_hidden || left === 0) return null;
  return html`
    <section class="card settings lines" id="first-steps">
      <div class="setting">
        <h2>Get started: ${steps.length - left} of ${steps.length} done</h2>
        <form class="setting-action" method="post" action="/first-steps/hide">
          <button class="button">Hide</button>
        </form>
      </div>
      <ul class="lines">
        ${steps.map(
          ({ done, href, words, why }) => html`
            <li class="setting">
              <div><b>${words}</b><span class="note">${why}</span></div>
              <div class="setting-action">
                ${
                  done
                    ? stateMark('up', 'Done')
                    : html`<a class="button" href="${safeUrl(href)}">Start<span class="unseen">: ${words}</span></a>`
                }
              </div>
            </li>
          `,
        )}
      </ul>
    </section>
  `;
}
