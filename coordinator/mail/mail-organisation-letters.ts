import type { About } from '../store/store-mails.ts';
import type { Words } from './mail-letters.ts';

/** To owners, about an organisation that ends. */

const moment = (iso: string, zone: string): string =>
  `${new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: zone }).format(new Date(iso))} (${zone})`;

const because = 'You get this because you own the organisation.';

export const organisationLetter = ({ what, organisation, by, ends_at, time_zone }: About<'organisation'>, page: string): Words => {
  const when = moment(ends_at, time_zone);
  const whose = by ?? 'Whoever runs this installation';
  const keep = { label: `Keep ${organisation}, or export it`, address: page };
  if (what === 'ends')
    return {
      subject: `${organisation} will be deleted in seven days`,
      sentences: [
        `${whose} wants ${organisation} to be deleted, with all that belongs to it, on ${when}.`,
        'Until then nothing in it can be changed, its monitors are paused, its alerts muted, and its status pages are not shown. An owner can undo that, and everything is as it was.',
      ],
      action: keep,
      because,
    };
  if (what === 'ends-soon')
    return {
      subject: `${organisation} will be deleted tomorrow`,
      sentences: [
        `${organisation} will be deleted on ${when}: monitors, incidents, uptime, status pages, and everything else. Nobody can bring it back after that.`,
        'Until then an owner can keep it, or take all of it along as one file.',
      ],
      action: keep,
      because,
    };
  if (what === 'kept')
    return {
      subject: `${organisation} stays`,
      sentences: [
        `${whose} keeps ${organisation}: it is not deleted, and everything is as it was. Monitors that it had paused are checked again.`,
      ],
      action: { label: `See ${organisation}`, address: page },
      because,
    };
  return {
    subject: `${organisation} is deleted`,
    sentences: [`The seven days in which ${organisation} could be kept are over. It is deleted now, with all that belonged to it.`],
    because: 'You get this because you owned the organisation. Your account stays as it is.',
  };
};
