import type { OutputOf } from '../../../shared/api/operation.ts';
import { createWallLink, revokeWallLink, showWall } from '../../../shared/api/wall.ts';
import { countText, heading, linkButton, notice, stateMark } from '../../web/elements.ts';
import { type Html, html, icon } from '../../web/html.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../../web/page.ts';
import type { Times } from '../../web/times.ts';
import { stateOf } from './monitor-table.ts';

/** Every monitor as a square, by group, on the whole screen. */
const squares = (
  { groups, is_whole }: Omit<OutputOf<typeof showWall>, 'link'>,
  link: boolean,
): Html => {
  const all = groups.flatMap(({ monitors }) => monitors);
  const count = (status: string): number => all.filter((each) => each.status === status).length;
  const failing = count('down') + count('verifying');
  return html`
    <h1>
      ${
        failing === 0
          ? stateMark('up', 'Nothing is failing')
          : stateMark('down', `${countText(failing)} of ${countText(all.length)} failing`)
      }
    </h1>
    ${groups.map(
      ({ name, monitors }) =>
        html`
          <section>
            <h2>${name ?? 'No group'}</h2>
            <ul>
              ${monitors.map(({ id, name: called, status }) => {
                const mark = stateMark(stateOf(status), called);
                return html`
                  <li class="square square-${status}">
                    ${link ? html`<a href="/monitors/${id}">${mark}</a>` : mark}
                  </li>
                `;
              })}
            </ul>
          </section>
        `,
    )}
    ${!is_whole && html`<p class="soft">Only the first ${countText(all.length)} are shown.</p>`}
  `;
};

const linkText = (
  { by, at, has_left }: NonNullable<OutputOf<typeof showWall>['link']>,
  times: Times,
): Html => html`
  Link for a TV created ${times.ago(at)} by ${by ?? 'someone whose account is deleted'}${
    has_left && by !== null && ', who has left the organisation'
  }. It works until you revoke it.
`;

const wallPage = async (request: MembersRequest, address?: string): Promise<PageAnswer> => {
  const { ask, may, times } = request;
  const wall = await ask(showWall);
  return show({
    title: 'Wall',
    place: 'monitors',
    live: true,
    ...(address === undefined ? {} : { headers: { 'cache-control': 'no-store' } }),
    main: html`
      <div class="stack wall">
        ${
          address !== undefined &&
          notice(
            'information',
            'Link created. It is shown only now.',
            html`<code>${address}</code>`,
          )
        }
        ${squares(wall, true)}
        <footer class="actions">
          ${linkButton('/', 'Close')}
          ${
            may(createWallLink) &&
            html`
              <form method="post" action="/wall/link">
                <button class="button">${icon('share')}Create link for a TV</button>
              </form>
              ${
                wall.link &&
                html`
                  <form method="post" action="/wall/link/revoke">
                    <button class="button">${icon('delete')}Revoke link</button>
                  </form>
                `
              }
            `
          }
          ${wall.link && html`<p class="soft">${linkText(wall.link, times)}</p>`}
        </footer>
      </div>
    `,
  });
};

export const wall: Page = {
  method: 'GET',
  path: '/wall',
  needs: 'member',
  answer: (request) => wallPage(request),
};

/** Answers with the link, which is in no history and no cache. */
export const makeLink: Page = {
  method: 'POST',
  path: '/wall/link',
  needs: 'member',
  answer: async (request) => wallPage(request, (await request.ask(createWallLink)).address),
};

export const revokeLink: Page = {
  method: 'POST',
  path: '/wall/link/revoke',
  needs: 'member',
  answer: async ({ ask }) => {
    await ask(revokeWallLink);
    return seeOther('/wall', { said: 'Link revoked.' });
  },
};

/** For anyone with the link: names and states, and nothing else. */
export const sharedWall: Page = {
  method: 'GET',
  path: '/wall/:secret',
  needs: 'nobody',
  // A television has no scripts that it could be trusted with.
  refreshS: 15,
  answer: async ({ path, with: { readWall }, now }) => {
    const headers = {
      'x-robots-tag': 'noindex',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    };
    const seen = await readWall(path.secret ?? '', now);
    if (!seen)
      return show({
        title: 'Link ended',
        frame: 'bare',
        status: 404,
        headers,
        main: heading({ sentence: 'This link does not work', below: 'Ask for a new one.' }),
      });
    return show({
      title: 'Wall',
      frame: 'bare',
      headers,
      main: html`<div class="stack wall">${squares(seen, false)}</div>`,
    });
  },
};
