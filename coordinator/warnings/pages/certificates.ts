import { listCertificates, listDomains } from '../../../shared/api/expiry.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { listInWords } from '../../../shared/base/text.ts';
import { daysUntil } from '../../../shared/checks/warnings.ts';
import { figure, heading, linkButton, nothing, stateMark } from '../../web/elements.ts';
import { html, type Part } from '../../web/html.ts';
import { forMembers, type MembersRequest, type Page, show } from '../../web/page.ts';
import { table } from '../../web/tables.ts';

type Certificate = OutputOf<typeof listCertificates>['items'][number];

/** `61 days`, `expired`. */
export function daysLeft(ends_at: string, now: number): string {
  const days = daysUntil(Date.parse(ends_at), now);
  if (days < 0) return 'expired';
  return days === 0 ? 'less than a day' : days === 1 ? '1 day' : `${days} days`;
}

/** For the page of a monitor: how long its certificate and its domain last. */
export function expiryFigures(
  [certificate]: readonly Pick<Certificate, 'ends_at'>[],
  [domain]: OutputOf<typeof listDomains>['items'],
  now: number,
): Part {
  return [
    certificate &&
      figure(html`<a href="/certificates">Certificate</a>`, daysLeft(certificate.ends_at, now)),
    domain && figure(html`<a href="/certificates">Domain</a>`, daysLeft(domain.ends_at, now)),
  ];
}

const soonDays = 30;

/** What ends at a time, with the monitors that it concerns and who has made it out. */
type Ending = {
  readonly part: 'Certificates' | 'Domains';
  readonly ends_at: string;
  readonly monitors: readonly { readonly monitor: string; readonly name: string }[];
  readonly by: string;
};

const list = forMembers.get('/certificates', async (request) => {
  const [{ items }, domains] = await Promise.all([
    request.ask(listCertificates, {}),
    request.ask(listDomains, {}),
  ]);
  const endings = together(items);
  return show({
    title: 'Certificates and domains',
    place: 'monitors',
    live: true,
    main: html`
        ${heading({
          sentence: sentenceOf([...endings, ...domains.items.map(asEnding)], request.now),
          below: items.length > 0 && 'Certificates and domains, soonest first, as last checked.',
          trail: [{ href: '/', name: 'Monitors' }],
        })}
        ${
          items.length + domains.items.length === 0
            ? nothing(
                'lock',
                'No check has seen a certificate yet. They appear here by themselves, soonest expiry first.',
                linkButton('/monitors/new', 'Add a monitor'),
              )
            : table(
                [
                  ...endings.map((each) => rowOf(each, request)),
                  ...domains.items.map((each) => rowOf(asEnding(each), request)),
                ],
                'Certificates and domains by expiry',
              )
        }
      `,
  });
});

/** `The certificate of Cart and Images expires in 5 days`, of what expires first. */
function sentenceOf(endings: readonly Ending[], now: number): string {
  const [first] = endings.toSorted((a, b) => Date.parse(a.ends_at) - Date.parse(b.ends_at));
  if (first === undefined) return 'No certificate seen yet';
  const names = first.monitors.map(({ name }) => name);
  const some = names.length > 3 ? [...names.slice(0, 1), `${names.length - 1} more`] : names;
  const days = daysUntil(Date.parse(first.ends_at), now);
  const what = `The ${first.part === 'Domains' ? 'domain' : 'certificate'} of ${listInWords(some)}`;
  if (days >= soonDays) return `Nothing expires in the next ${soonDays} days`;
  return days < 0 ? `${what} has expired` : `${what} expires in ${daysLeft(first.ends_at, now)}`;
}

function rowOf({ part, ends_at, monitors, by }: Ending, { times, now }: MembersRequest) {
  const days = daysUntil(Date.parse(ends_at), now);
  const left = daysLeft(ends_at, now);
  return {
    part,
    Monitors: monitors.map(
      ({ monitor, name }, nth) =>
        html`${nth > 0 && ', '}<a href="/monitors/${monitor}">${name}</a>`,
    ),
    'Expires in': stateMark(days < 0 ? 'down' : days < soonDays ? 'verifying' : 'up', left),
    Expires: times.day(ends_at),
    'Issuer or registrar': by,
  };
}

/** Groups by certificate: one renewal replaces it everywhere. */
function together(items: readonly Certificate[]): Ending[] {
  return [...Map.groupBy(items, ({ fingerprint }) => fingerprint).values()].flatMap((same) => {
    const [first] = same;
    return first
      ? [{ part: 'Certificates', ends_at: first.ends_at, monitors: same, by: first.issuer }]
      : [];
  });
}

function asEnding(domain: OutputOf<typeof listDomains>['items'][number]): Ending {
  return {
    part: 'Domains',
    ends_at: domain.ends_at,
    monitors: [domain],
    by: domain.registrar,
  };
}

export const certificatePages: readonly Page[] = [list];
