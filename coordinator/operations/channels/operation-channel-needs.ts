import type { AlertLinks } from '../../access/access-alert-links.ts';

/**
 * What operations need of the kinds of channels: what there is to fill in, whether a config is one, what of it is shown, and a message that is really
 * sent. app.ts hands this over, because kinds and sending belong to the room of alerts.
 */
export type ChannelConfig = { readonly [name: string]: string };

export type KindField = {
  readonly name: string;
  readonly label: string;
  readonly hint: string | null;
  readonly secret: boolean;
  readonly optional: boolean;
  readonly input: string;
  readonly choices: readonly string[];
  readonly pattern: string;
};
export type Kind = { readonly id: string; readonly name: string; readonly about: string; readonly fields: readonly KindField[] };

/** What came of one message that was sent while somebody waits. */
export type Tried = {
  readonly status: number | null;
  readonly class: string;
  readonly verdict: 'taken' | 'retry' | 'refused';
  readonly words: string | null;
  readonly took_ms: number;
};

export type ChannelsPart = {
  readonly kinds: readonly Kind[];
  /** A config from what somebody sent; `stored`: what a mask stands for. Undefined for a kind that there is not. */
  readonly read: (
    kind: string,
    sent: Readonly<Record<string, unknown>>,
    stored: ChannelConfig,
  ) => { readonly config: ChannelConfig } | { readonly faults: { readonly [field: string]: string } } | undefined;
  readonly split: (kind: string, config: ChannelConfig) => { readonly open: ChannelConfig; readonly secrets: ChannelConfig };
  readonly shown: (kind: string, config: ChannelConfig) => ChannelConfig;
  /** Where its messages go, so that what goes to one host has one share; null where that cannot be told. */
  readonly host: (kind: string, config: ChannelConfig) => string | null;
  readonly test: (
    kind: string,
    config: ChannelConfig,
    /** `name`: null while it is not saved. */
    about: { readonly key: string; readonly name: string | null; readonly channel: string | null; readonly organisation: string },
  ) => Promise<Tried>;
  readonly links: AlertLinks;
  /** What a browser needs in order to be told. */
  readonly pushKey: () => Promise<string>;
};
