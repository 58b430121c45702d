import type { OutputOf } from '../../../shared/api/operation.ts';
import { daysUntil } from '../../../shared/checks/warnings.ts';
import { heading, stateMark } from '../../web/elements.ts';
import { type Html, html } from '../../web/html.ts';
import { type MembersRequest, type Page, show } from '../../web/page.ts';
import { listCertificates } from '../contract.ts';

type Certificate = OutputOf<typeof listCertificates>['items'][number];

/** Those that are the same certificate, which one renewal replaces. */
const together = (items: readonly Certificate[]): Certificate[][] => [
  ...Map.groupBy(items, ({ fingerprint }) => fingerprint).values(),
];

/** `61 days`, `expired`. */
export const daysLeft = (ends_at: string, now: number): string => {
  const days = daysUntil(Date.parse(ends_at), now);
  if (days < 0) return 'expired';
  return days === 0 ? 'less than a day' : days === 1 ? '1 day' : `${days} days`;
};

const soonDays = 30;

const rowOf = (same: readonly Certificate[], { times, now }: MembersRequest): Html | null => {
  const [first] = same;
  if (first === undefined) return null;
  const days = daysUntil(Date.parse(first.ends_at), now);
  const left = daysLeft(first.ends_at, now);
  return html`
    <tr>
      <td data-label="Expires in">
        ${days >= soonDays ? left : stateMark(days < 0 ? 'down' : 'verifying', left)}
      </td>
      <td data-label="Expires">${times.day(first.ends_at)}</td>
      <td data-label="Monitors">
        <div>
          ${same.map(
            ({ monitor, name }, nth) =>
              html`${nth > 0 && ', '}<a href="/monitors/${monitor}">${name}</a>`,
          )}
        </div>
      </td>
      <td data-label="Issuer">${first.issuer}</td>
    </tr>
  `;
};

const list: Page = {
  method: 'GET',
  path: '/certificates',
  needs: 'member',
  answer: async (request) => {
    const { items } = await request.ask(listCertificates, {});
    return show({
      title: 'Certificates',
      place: 'monitors',
      live: true,
      main: html`
        ${heading({
          sentence: 'Certificates',
          below: 'Those that expire first come first. Each as a check saw it last.',
          trail: [{ href: '/', name: 'Monitors' }],
        })}
        ${
          items.length === 0
            ? html`<p class="nothing card">No check has seen a certificate yet</p>`
            : html`
              <div class="table-card">
                <table class="cards">
                  <caption class="unseen">Certificates by expiry</caption>
                  <thead>
                    <tr>
                      <th scope="col">Expires in</th>
                      <th scope="col">Expires</th>
                      <th scope="col">Monitors</th>
                      <th scope="col">Issuer</th>
                    </tr>
                  </thead>
                  <tbody>${together(items).map((same) => rowOf(same, request))}</tbody>
                </table>
              </div>
            `
        }
      `,
    });
  },
};

export const certificatePages: readonly Page[] = [list];
