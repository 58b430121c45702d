import type { Notification } from '../message.ts';
import { clean, cut, inAll, title } from './text.ts';
import {
  basic,
  type ChannelKind,
  formPost,
  judgeHttp,
  member,
  secretField,
  textField,
  value,
} from './types.ts';

/** The characters that fit 160 to a message (GSM 03.38). Those of the second line count twice. */
const single =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
const double = '^{}\\[~]|€';

const likeOf: Readonly<Record<string, string>> = {
  '…': '...',
  '–': '-',
  '—': '-',
  '“': '"',
  '”': '"',
  '„': '"',
  '‘': "'",
  '’': "'",
  '•': '-',
  '·': '-',
};

/** The characters of one segment, and of two segments that are shown as one message. */
const segments = { gsm: [160, 306], other: [70, 134] } as const;
/** The least length of the sentence beside a link; below it, the message takes a second segment. */
const enough = 60;

type Sms = {
  readonly text: string;
  /** Dropped whole where it does not fit. */
  readonly suffix: string;
  readonly link: string;
  /** Whether the message is useless without its link, and may take a second segment for it. */
  readonly needsLink: boolean;
};

/**
 * The text of an SMS: in GSM characters, or unchanged where GSM would drop too much to be
 * understood.
 */
function smsText({ text, suffix, link, needsLink }: Sms): string {
  const written = [...text].map(gsmOf);
  const lost = written.filter((letter) => letter === undefined).length;
  const isGsm =
    lost * 5 <= written.length &&
    [...link].every((letter) => single.includes(letter) || double.includes(letter));
  const measure = isGsm ? septets : (one: string) => one.length;
  const words = isGsm ? written.map((letter) => letter ?? '?').join('') : text;
  const [one, two] = isGsm ? segments.gsm : segments.other;
  const linked = measure(link) + 1;
  const isWhole = measure(words) + linked <= one;
  const isLinked = needsLink || isWhole || one - linked >= enough;
  const limit = (needsLink && !isWhole ? two : one) - (isLinked ? linked : 0);
  const body =
    measure(words) + measure(suffix) <= limit
      ? `${words}${suffix}`
      : shortened(words, limit, measure);
  return isLinked ? `${body} ${link}` : body;
}

/** A character as GSM has it, or undefined. */
function gsmOf(letter: string): string | undefined {
  if (single.includes(letter) || double.includes(letter)) return letter;
  const plain = likeOf[letter] ?? letter.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  return plain !== '' && [...plain].every((one) => single.includes(one)) ? plain : undefined;
}

function septets(text: string): number {
  return [...text].reduce((sum, letter) => sum + (double.includes(letter) ? 2 : 1), 0);
}

/**
 * GSM has three full stops, and no ellipsis character. A bracket is dropped rather than cut in two.
 */
function shortened(text: string, limit: number, measure: (text: string) => number): string {
  if (measure(text) <= limit) return text;
  const room = limit - measure('...');
  const kept = cut(text, room + 1, (part) => (part === '…' ? 1 : measure(part))).replace(/…$/, '');
  const open = kept.lastIndexOf('(');
  return room < 0
    ? ''
    : `${(open > kept.lastIndexOf(')') ? kept.slice(0, open) : kept).trimEnd()}...`;
}

export const twilio: ChannelKind = {
  id: 'twilio_sms',
  name: 'SMS (Twilio)',
  about: 'Sends SMS, up to 160 characters, through your Twilio account.',
  family: 'phone',
  fields: {
    account: textField(
      'Account SID',
      'Twilio Console → Account Info. Begins with AC.',
      /^AC[0-9a-f]{32}$/v,
      'must be AC and 32 hexadecimal digits',
    ),
    token: secretField(
      'Auth token',
      'Beside the account SID.',
      /^[0-9A-Za-z]{20,64}$/v,
      'must have 20 to 64 letters and digits',
    ),
    from: textField(
      'From',
      'Your Twilio number (+15005550006), or a messaging service (MG…).',
      /^(?:\+[1-9]\d{6,14}|MG[0-9a-f]{32})$/v,
      'must be a number that begins with +, or a messaging service that begins with MG',
    ),
    to: {
      ...textField(
        'To',
        'The phone number with country code: +4915112345678.',
        /^\+[1-9]\d{6,14}$/v,
        'must be a number that begins with + and the country code',
      ),
      input: 'tel',
    },
  },
  hosts: ['api.twilio.com'],
  message: (notification, config) => {
    const account = value(config, 'account');
    const from = value(config, 'from');
    return formPost(
      `https://api.twilio.com/2010-04-01/Accounts/${account}/Messages.json`,
      {
        To: value(config, 'to'),
        ...(from.startsWith('MG') ? { MessagingServiceSid: from } : { From: from }),
        Body: smsText({
          text: sentence(notification),
          suffix: inAll(notification),
          link:
            notification.event === 'test'
              ? notification.links.why
              : (notification.links.acknowledge_short ?? notification.links.incident),
          needsLink: notification.links.acknowledge_short !== null,
        }),
      },
      { authorization: basic(account, value(config, 'token')) },
    );
  },
  judge: judgeHttp({
    refused: {
      400: 'Twilio rejected this message',
      401: 'Twilio does not know this account and token',
      403: 'Twilio does not allow this account to send there',
      404: 'Twilio does not know this account',
    },
    reference: ({ body }) => member(body, 'sid'),
    first: ({ body, status }) => {
      if (status < 400) return undefined;
      const code = member(body, 'code');
      if (code === 21_211)
        return { is: 'refused', words: 'Twilio says that this is not a phone number (21211)' };
      if (code === 21_610)
        return { is: 'refused', words: 'the phone has stopped your messages with STOP (21610)' };
      if (code === 21_608)
        return {
          is: 'refused',
          words: 'a Twilio trial account can send only to verified numbers (21608)',
        };
      return undefined;
    },
  }),
  gathers: true,
  safe: 'none',
};

/** What happened; for several monitors, with the name of one. */
function sentence(notification: Notification): string {
  const [first, ...more] = notification.monitors;
  if (first === undefined || more.length === 0) return title(notification);
  return `${title(notification)}: ${cut(clean(first.name), 40)} and ${more.length} more`;
}
