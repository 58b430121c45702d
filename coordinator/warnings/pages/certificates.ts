import type { OutputOf } from '../../../shared/api/operation.ts';
import { daysUntil } from '../../../shared/checks/warnings.ts';
import { listDomains } from '../../registrations/contract.ts';
import { figure, heading, stateMark } from '../../web/elements.ts';
import { type Html, html, type Part } from '../../web/html.ts';
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

/** For the page of a monitor: how long its certificate and its domain last. */
export const expiryFigures = (
  [certificate]: readonly Pick<Certificate, 'ends_at'>[],
  [domain]: OutputOf<typeof listDomains>['items'],
  now: number,
): Part => [
  certificate &&
    figure(html`<a href="/certificates">Certificate</a>`, daysLeft(certificate.ends_at, now)),
  domain && figure(html`<a href="/certificates">Domain</a>`, daysLeft(domain.ends_at, now)),
];

const soonDays = 30;

const rowOf = (same: readonly Certificate[], { times, now }: MembersRequest): Html | null => {
  const [first] = same;
  if (first === undefined) return null;
  const days = daysUntil(Date.parse(first.ends_at), now);
  const left = daysLeft(first.ends_at, now);
  return html`
    <tr>
      <td data-label="Expires in">
        ${soonMark(days, left)}
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

const soonMark = (days: number, left: string): Part =>
  days >= soonDays ? left : stateMark(days < 0 ? 'down' : 'verifying', left);

const domainTable = (
  items: OutputOf<typeof listDomains>['items'],
  { times, now }: MembersRequest,
): Html => html`
  <h2>Domains</h2>
  <div class="table-card">
    <table class="cards">
      <caption class="unseen">Domains by expiry</caption>
      <thead>
        <tr>
          <th scope="col">Expires in</th>
          <th scope="col">Expires</th>
          <th scope="col">Monitor</th>
          <th scope="col">Registrar</th>
        </tr>
      </thead>
      <tbody>
        ${items.map(
          ({ monitor, name, registrar, ends_at }) => html`
            <tr>
              <td data-label="Expires in">
                ${soonMark(daysUntil(Date.parse(ends_at), now), daysLeft(ends_at, now))}
              </td>
              <td data-label="Expires">${times.day(ends_at)}</td>
              <td data-label="Monitor"><a href="/monitors/${monitor}">${name}</a></td>
              <td data-label="Registrar">${registrar}</td>
            </tr>
          `,
        )}
      </tbody>
    </table>
  </div>
`;

const list: Page = {
  method: 'GET',
  path: '/certificates',
  needs: 'member',
  answer: async (request) => {
    const [{ items }, domains] = await Promise.all([
      request.ask(listCertificates, {}),
      request.ask(listDomains, {}),
    ]);
    return show({
      title: 'Certificates and domains',
      place: 'monitors',
      live: true,
      main: html`
        ${heading({
          sentence: 'Certificates and domains',
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
        ${domains.items.length > 0 && domainTable(domains.items, request)}
      `,
    });
  },
};

export const certificatePages: readonly Page[] = [list];
