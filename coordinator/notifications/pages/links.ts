import { entryCard, entryPage, orDeadLink } from '../../people/pages/parts.ts';
import { linkButton } from '../../web/elements.ts';
import { type Html, html, joined } from '../../web/html.ts';
import { forAnyone, type Page, type PageAnswer } from '../../web/page.ts';
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

/** `/a/`: the short form, in an SMS. */
const acknowledgePaths = ['/acknowledge/:secret', '/a/:secret'] as const;

const unsubscribePage = forAnyone.get('/unsubscribe/:secret', ({ askAsVisitor, path }) =>
  orDeadLink(async () => {
    const { organisation, address } = await askAsVisitor(showUnsubscribing, {
      secret: path.secret,
    });
    return card(
      'Unsubscribe',
      'Unsubscribe from these alerts?',
      words(
        html`
            <b>${address}</b> gets no more alerts from ${organisation}. Its owners are notified.
          `,
      ),
      button('Unsubscribe'),
    );
  }),
);

function card(title: string, sentence: string, ...parts: readonly Html[]): PageAnswer {
  return entryPage(title, entryCard(sentence, ...parts), { headers });
}

function words(text: Parameters<typeof joined>[0][number]): Html {
  return html`<p class="soft">${text}</p>`;
}

function button(label: string): Html {
  return html`
    <form class="form" method="post"><button class="button button-main">${label}</button></form>
  `;
}

const unsubscribed: Page = {
  method: 'POST',
  path: '/unsubscribe/:secret',
  needs: 'nobody',
  fromAnywhere: true,
  answer: ({ askAsVisitor, path }) =>
    orDeadLink(async () => {
      const { address } = await askAsVisitor(unsubscribe, { secret: path.secret });
      return card(
        'Unsubscribed',
        'Unsubscribed',
        words(html`<b>${address}</b> gets no more of these alerts.`),
      );
    }),
};

const confirmPage = forAnyone.get('/confirm-channel/:secret', ({ askAsVisitor, path }) =>
  unlessTooOld(async () => {
    const { organisation, address, said } = await askAsVisitor(showConfirmation, {
      secret: path.secret,
    });
    if (said) return saidYes(address);
    return card(
      'Alerts to this address',
      'Get alerts at this address?',
      words(
        html`
            <b>${organisation}</b> wants to alert <b>${address}</b> when one of its monitors goes
            down, and when it is up again. Nothing is sent unless you confirm.
          `,
      ),
      button('Confirm alerts'),
    );
  }),
);

/** For an expired confirmation link: says how to get another, and from whom. */
function unlessTooOld(answer: () => Promise<PageAnswer>): Promise<PageAnswer> {
  return orDeadLink(
    answer,
    entryPage(
      'Link expired',
      entryCard(
        'This link has expired',
        words(
          'It is older than a day, a newer mail replaced it, or the channel was deleted. You get no alerts from it.',
        ),
        words('The person who added you can send another mail, on the page of the channel.'),
      ),
      { headers, status: 404 },
    ),
  );
}

function saidYes(address: string): PageAnswer {
  return card(
    'Alerts to this address',
    'Already confirmed',
    words(html`<b>${address}</b> gets alerts. Every alert has a link to unsubscribe.`),
  );
}

const confirm = forAnyone.post('/confirm-channel/:secret', ({ askAsVisitor, path }) =>
  unlessTooOld(async () => {
    const { address, said } = await askAsVisitor(showConfirmation, { secret: path.secret });
    if (said) return saidYes(address);
    const { name } = await askAsVisitor(confirmChannel, { secret: path.secret });
    return card(
      'Alerts to this address',
      'Confirmed',
      words(html`<b>${name}</b> now gets alerts. Every alert has a link to unsubscribe.`),
    );
  }),
);

export const alertLinkPages: readonly Page[] = [
  ...acknowledgePaths.flatMap((path) => [acknowledgePage(path), acknowledge(path)]),
  unsubscribePage,
  unsubscribed,
  confirmPage,
  confirm,
];

function acknowledgePage(path: string): Page {
  return forAnyone.get(path, ({ askAsVisitor, path: { secret } }) =>
    orDeadLink(async () => {
      const { organisation, sentence, open, acknowledged_by, incidents } = await askAsVisitor(
        showAcknowledgement,
        { secret },
      );
      const about = words(html`<b>${organisation}</b>: ${sentence}`);
      if (open)
        return card(
          'Acknowledge this incident?',
          'Acknowledge this incident?',
          about,
          words('Reminders stop, and everyone who was notified gets a message.'),
          button('Acknowledge'),
          seeIncident(incidents),
        );
      return acknowledged_by.length > 0
        ? card(
            'Already acknowledged',
            'Already acknowledged',
            about,
            words(joined(acknowledged_by, ', ')),
            seeIncident(incidents),
          )
        : card('Already resolved', 'Already resolved', about, seeIncident(incidents));
    }),
  );
}

/** The way on, for whoever can sign in. */
function seeIncident([incident, ...more]: readonly string[]): Html {
  return html`
  <p class="actions">
    ${linkButton(
      incident === undefined || more.length > 0 ? '/incidents' : `/incidents/${incident}`,
      incident !== undefined && more.length > 0 ? 'View incidents' : 'View incident',
    )}
  </p>
`;
}

function acknowledge(path: string): Page {
  return {
    method: 'POST',
    path,
    needs: 'nobody',
    fromAnywhere: true,
    answer: ({ askAsVisitor, path: { secret } }) =>
      orDeadLink(async () => {
        const { incidents } = await askAsVisitor(showAcknowledgement, { secret });
        const acknowledged = await askAsVisitor(acknowledgeByLink, { secret });
        return acknowledged.incidents.length > 0
          ? card(
              'Acknowledged',
              'Acknowledged',
              words('Reminders have stopped, and everyone who was notified gets a message.'),
              seeIncident(incidents),
            )
          : card('Nothing to do', 'Already resolved or acknowledged', seeIncident(incidents));
      }),
  };
}
