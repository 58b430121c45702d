import type { Told } from './alert-told.ts';
import type { ChannelConfig, ChannelKind } from './kinds/channel-kind.ts';

const nothing: Told = {
  ...{
    event: 'test',
    sentence: '',
    monitors: [],
    earlier: [],
    time_zone: 'UTC',
    others_down: { count: 0, names: [] },
    organisation: '',
    key: '-',
    at: 0,
  },
  links: { incident: '', acknowledge: null, acknowledge_short: null, why: '', channel: '', unsubscribe: null },
  thread: { key: '-', reference: null, over: false },
};

/**
 * Where messages with these settings go: the host and its port; `mail` for all that our own mail server takes. Null where none can be made.
 */
export const hostOf = (kind: ChannelKind, settings: ChannelConfig): string | null => {
  try {
    const outgoing = kind.message(nothing, settings, 0);
    if (outgoing.by === 'mail') return 'mail';
    return URL.parse(outgoing.by === 'push' ? outgoing.endpoint : outgoing.url)?.host ?? null;
  } catch {
    return null; // Settings of which no message can be made say so when one is sent.
  }
};
