import type { OutputOf } from '../../shared/api/operation.ts';
import { proofFirst } from '../people/pages/parts.ts';
import { countText, heading, linkButton } from '../web/elements.ts';
import { refuseUnlessMay } from '../web/forms.ts';
import { type Html, html, icon } from '../web/html.ts';
import { type MembersRequest, type Page, seeOther, send, show } from '../web/page.ts';
import { createArchive, keptDays, readArchive, showArchive } from './contract.ts';

type Archive = NonNullable<OutputOf<typeof showArchive>['archive']>;

/** Every check of the last days, made in the background and downloaded by the day. */
export const archivePage: Page = {
  method: 'GET',
  path: '/organisation/archive',
  needs: 'member',
  answer: async (request) => {
    refuseUnlessMay(request, createArchive);
    const asked = proofFirst(request);
    if (asked) return asked;
    const { archive } = await request.ask(showArchive);
    const isRunning = archive !== null && archive.ended_at === null;
    return show({
      title: 'Archive',
      place: 'organisation',
      live: true,
      main: html`
        ${heading({
          sentence: `Archive of ${request.caller.organisation.name}`,
          below:
            'Every check of the last days as Parquet, a file for each day (UTC): monitor, time, location, outcome, response time with its phases, and cause.',
          trail: [{ href: '/organisation', name: 'Organisation' }],
        })}
        <div class="card stack">
          <p>
            It is made in the background and can be downloaded for ${keptDays} days. The operator of
            this service decides how long single checks are kept.
          </p>
          <p class="soft">The archive is recorded in the audit log.</p>
        </div>
        ${archive !== null && madeOf(archive, request)}
        <form class="actions after" method="post">
          ${
            !isRunning &&
            html`
              <button class="button button-main">
                ${icon('downwards')}${archive === null ? 'Create archive' : 'Create new archive'}
              </button>
            `
          }
          ${linkButton('/organisation', isRunning ? 'Back' : 'Cancel')}
        </form>
      `,
    });
  },
};

export const makeArchive: Page = {
  method: 'POST',
  path: '/organisation/archive',
  needs: 'member',
  answer: async ({ ask }) => {
    await ask(createArchive);
    return seeOther('/organisation/archive', { said: 'Archive started.' });
  },
};

export const archiveFile: Page = {
  method: 'GET',
  path: '/organisation/archive/:archive_id/:day',
  needs: 'member',
  answer: async (request) => {
    refuseUnlessMay(request, createArchive);
    const asked = proofFirst(request);
    if (asked) return asked;
    const { archive_id: archive = '', day = '' } = request.path;
    const first = await pieceOf(request, archive, day, 0);
    return send({
      type: 'application/vnd.apache.parquet',
      body: piecesOf(request, archive, day, first),
      headers: {
        'content-disposition': `attachment; filename="checks-${day}.parquet"`,
        'cache-control': 'no-store',
      },
    });
  },
};

async function pieceOf({ ask }: MembersRequest, archive: string, day: string, nth: number) {
  const { data } = await ask(readArchive, { archive, day, nth });
  return data === null ? null : Buffer.from(data, 'base64');
}

async function* piecesOf(
  request: MembersRequest,
  archive: string,
  day: string,
  first: Uint8Array | null,
): AsyncGenerator<Uint8Array> {
  let piece = first;
  for (let nth = 1; piece !== null; nth += 1) {
    yield piece;
    piece = await pieceOf(request, archive, day, nth);
  }
}

function madeOf(archive: Archive, { times }: MembersRequest): Html {
  const { id, created_at, created_by, ended_at, is_too_large, files } = archive;
  return html`
    <section class="after">
      <h2>${ended_at === null ? 'In progress' : 'Files'}</h2>
      <p class="soft">Started ${times.moment(created_at)} by ${created_by}.</p>
      ${ended_at === null && html`<p class="soft">It waits for checks that arrive late, half an hour at most.</p>`}
      ${is_too_large && html`<p>It was too large: the newest days are missing. Ask the operator.</p>`}
      ${ended_at !== null && files.length === 0 && html`<p>No checks yet. A day is complete about an hour after its end.</p>`}
      ${
        files.length > 0 &&
        html`
          <div class="table-card">
            <table class="cards">
              <thead>
                <tr>
                  <th scope="col">Day</th>
                  <th scope="col">Checks</th>
                  <th scope="col">Size</th>
                  <th scope="col"><span class="unseen">Download</span></th>
                </tr>
              </thead>
              <tbody>
                ${files.map(
                  ({ day, checks, bytes }) => html`
                    <tr data-row>
                      <td data-label="Day"><b>${day}</b></td>
                      <td data-label="Checks">${countText(checks)}</td>
                      <td data-label="Size">${countText(Math.ceil(bytes / 1_000))} kB</td>
                      <td>${linkButton(`/organisation/archive/${id}/${day}`, 'Download')}</td>
                    </tr>
                  `,
                )}
              </tbody>
            </table>
          </div>
        `
      }
    </section>
  `;
}
