import { expect, test } from 'vitest';
import { channelMail, invitationMail, optInMail } from '../../../coordinator/mail/templates.ts';

const address = 'https://antipode.test/x';
const page = (title: string) => ({
  ...{ email: 'a@shop.example', language: 'en' as const, slug: 'shop', domain: null, title, organisation: 'o', time_zone: 'UTC' },
});
/** Mails that anyone with an account has us send to a mailbox of someone else's. */
const sentToOthers = (name: string) => [
  invitationMail(name, null, 'member', address),
  channelMail(name, address),
  optInMail(page(name), address),
];

test('no subject and no button of a mail to others carries a link that its sender wrote', () => {
  for (const name of [
    'https://evil.example/win',
    'Win at evil.example',
    'Приз на выигрыш.рф',
    'mail me@evil.example',
    '//evil',
    'win。example',
  ])
    for (const { subject, action } of sentToOthers(name)) {
      expect(`${subject} ${action?.label}`).not.toMatch(/[\p{L}\p{N}][.。．｡]\p{L}{2}|\/\/|@/u);
    }
});

test('names that are no links stand in subjects as they are', () => {
  for (const name of ['Shop & Sons Ltd.', 'Büro 2.0', 'R.U.R', 'U. S. Robots'])
    for (const { subject } of sentToOthers(name)) expect(subject).toContain(name);
});
