import { entryCard, entryPage, unlessDead } from '../../people/pages/parts.ts';
import { type Html, html, joined } from '../../web/html.ts';
import type { Page, PageAnswer } from '../../web/page.ts';
import {
  acknowledgeByLink,
  confirmChannel,
  showAcknowledgement,
  showConfirmation,
  showUnsubscribing,
  unsubscribe,
} from '../contract.ts';

/**
 * The targets of links in messages and mails: anyone who has one may do what it says, signed in or
 * not. Mail scanners follow links, so GET changes nothing. Mail services and phones post by
 * themselves (RFC 8058, ntfy), so a POST may come from anywhere.
 */

// The address is the secret: it must reach no other site and no index.
const headers = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
};

const card = (title: string, sentence: string, ...parts: readonly Html[]): PageAnswer =>
  entryPage(title, entryCard(sentence, ...parts), { headers });

const words = (text: Parameters<typeof joined>[0][number]): Html =>
  html`<p class="entry-words">${text}</p>`;
const button = (label: string): Html =>
  html`
    <form class="form" method="post"><button class="button button-main">${label}</button></form>
  `;

/** `/a/`: the short form, in an SMS. */
const acknowledgePaths = ['/acknowledge/:secret', '/a/:secret'] as const;

const acknowledgePage = (path: string): Page => ({
  method: 'GET',
  path,
  needs: 'nobody',
  answer: ({ askAsVisitor, path: { secret } }) =>
    unlessDead(async () => {
      const { organisation, sentence, open, acknowledged_by } = await askAsVisitor(
        showAcknowledgement,
        { secret },
      );
      const about = words(html`<b>${organisation}</b>: ${sentence}`);
      if (open)
        return card(
          'Are you on it?',
          'Are you on it?',
          about,
          words('It ends reminders, and everybody who was told hears of it.'),
          button('I am on it'),
        );
      return acknowledged_by.length > 0
        ? card(
            'Somebody is on it',
            'Somebody is on it.',
            about,
            words(joined(acknowledged_by, ', ')),
          )
        : card('It is over', 'It is over.', about);
    }),
});

const acknowledge = (path: string): Page => ({
  method: 'POST',
  path,
  needs: 'nobody',
  fromAnywhere: true,
  answer: ({ askAsVisitor, path: { secret } }) =>
    unlessDead(async () => {
      const { incidents } = await askAsVisitor(acknowledgeByLink, { secret });
      return incidents.length > 0
        ? card(
            'You are on it',
            'You are on it.',
            words('Reminders have ended, and everybody who was told hears of it.'),
          )
        : card('Nothing to do', 'It is over, or somebody is on it already.');
    }),
});

const unsubscribePage: Page = {
  method: 'GET',
  path: '/unsubscribe/:secret',
  needs: 'nobody',
  answer: ({ askAsVisitor, path }) =>
    unlessDead(async () => {
      const { organisation, address } = await askAsVisitor(showUnsubscribing, {
        secret: path.secret,
      });
      return card(
        'No more alerts',
        'No more alerts here?',
        words(
          html`
            <b>${address}</b> then gets no more alerts of ${organisation}. Its owners hear of it.
          `,
        ),
        button('End them'),
      );
    }),
};

const unsubscribed: Page = {
  method: 'POST',
  path: '/unsubscribe/:secret',
  needs: 'nobody',
  fromAnywhere: true,
  answer: ({ askAsVisitor, path }) =>
    unlessDead(async () => {
      const { address } = await askAsVisitor(unsubscribe, { secret: path.secret });
      return card(
        'No more alerts',
        'They have ended.',
        words(html`<b>${address}</b> gets no more of these alerts.`),
      );
    }),
};

/** For an expired confirmation link: says how to get another, and from whom. */
const unlessTooOld = (answer: () => Promise<PageAnswer>): Promise<PageAnswer> =>
  unlessDead(
    answer,
    entryPage(
      'Link not good',
      entryCard(
        'This link is not good.',
        words(
          'It is older than a day, a newer mail took its place, or the channel was deleted. Nothing is sent to you by it.',
        ),
        words(
          'Whoever wants to tell you of outages can send another mail, on the page of the channel.',
        ),
      ),
      { headers, status: 404 },
    ),
  );

const saidYes = (address: string): PageAnswer =>
  card(
    'Alerts to this address',
    'You have said yes already.',
    words(html`<b>${address}</b> is told. Every alert has a link that ends them.`),
  );

const confirmPage: Page = {
  method: 'GET',
  path: '/confirm-channel/:secret',
  needs: 'nobody',
  answer: ({ askAsVisitor, path }) =>
    unlessTooOld(async () => {
      const { organisation, address, said } = await askAsVisitor(showConfirmation, {
        secret: path.secret,
      });
      if (said) return saidYes(address);
      return card(
        'Alerts to this address',
        'Do you want these alerts?',
        words(
          html`
            <b>${organisation}</b> would tell <b>${address}</b> when one of its monitors is down,
            and when that is over. Without a yes nothing is sent.
          `,
        ),
        button('Yes, send them'),
      );
    }),
};

const confirm: Page = {
  method: 'POST',
  path: '/confirm-channel/:secret',
  needs: 'nobody',
  answer: ({ askAsVisitor, path }) =>
    unlessTooOld(async () => {
      const { address, said } = await askAsVisitor(showConfirmation, { secret: path.secret });
      if (said) return saidYes(address);
      const { name } = await askAsVisitor(confirmChannel, { secret: path.secret });
      return card(
        'Alerts to this address',
        'Thank you.',
        words(html`<b>${name}</b> is told from now on. Every alert has a link that ends them.`),
      );
    }),
};

export const alertLinkPages: readonly Page[] = [
  ...acknowledgePaths.flatMap((path) => [acknowledgePage(path), acknowledge(path)]),
  unsubscribePage,
  unsubscribed,
  confirmPage,
  confirm,
];
