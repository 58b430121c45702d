/**
 * What is told, apart from how: one value that every kind of channel makes its message of. Whoever delivers makes it of stored rows; a kind
 * escapes, shortens and colours it for its medium. Names, targets and causes are data of others: no text here carries markup.
 *
 * Every instant is in whole milliseconds since 1970 (UTC), as everywhere in the core; none is a Date.
 */

export const toldEvents = ['down', 'up', 'was_down', 'closed', 'reminder', 'acknowledged', 'flapping', 'test'] as const;
/**
 * `was_down`: a "down" whose incident ended before it was taken. `closed`: ended by pausing, deleting or an edit (rule 17).
 * `flapping`: told once, then silence.
 */
export type ToldEvent = (typeof toldEvents)[number];

/** One incident of one monitor. */
export type ToldMonitor = {
  readonly id: string;
  readonly incident: string;
  /** What is told of this one: what became due together may be several things. */
  readonly event: ToldEvent;
  readonly name: string;
  /** The name of its group, for the order of a list. */
  readonly group: string | null;
  /** What is checked, as people write it; null where there is none to show (a heartbeat). */
  readonly target: string | null;
  /** Why, in a plain sentence without a full stop: "status 503, expected 2xx". */
  readonly cause: string;
  readonly started_at: number;
  readonly confirmed_at: number | null;
  readonly resolved_at: number | null;
  /** Where it was seen first and where it was confirmed, in words: "Frankfurt, Europe"; null where nobody else may look. */
  readonly seen_from: string | null;
  readonly confirmed_from: string | null;
  /** What every continent saw, in a line: "down from Europe, Asia; up from North America". */
  readonly matrix: string | null;
};

export type ToldLinks = {
  /** The incident's page; of several incidents the list of them. */
  readonly incident: string;
  /** Signed and good for what this message tells alone: GET shows a button, POST acknowledges. Null where nothing is to be acknowledged. */
  readonly acknowledge: string | null;
  /** The same in few characters, for an SMS. */
  readonly acknowledge_short: string | null;
  /** Why this message came, step by step. */
  readonly why: string;
  /** The channel's settings. */
  readonly channel: string;
  /** For mail (RFC 8058): POST ends it for this address alone, GET shows a button. Null for channels that are no mailbox. */
  readonly unsubscribe: string | null;
};

/** The talk that a message belongs to: it begins with a "down" message (of one incident or of several), and what follows from that answers it. */
export type ToldThread = {
  /** The `key` of the message that began it (of that message its own): dedup key of what opens and closes, root of a mail thread. */
  readonly key: string;
  /** What the receiver called the first message of the talk (`Verdict.reference`), when it was taken and said so. */
  readonly reference: string | null;
  /** Whether with this message everything that was told in this talk is over: only then does an "up" close something at the receiver. */
  readonly over: boolean;
};

export type Told = {
  /** The gravest of what is told: colour, priority and title follow. */
  readonly event: ToldEvent;
  /** What the matter is, in one sentence: "Checkout is down everywhere: status 503, expected 2xx." "12 monitors are down." */
  readonly sentence: string;
  /** Each monitor once, in its newest state, in the order to show them (by group, by common cause); none only for a `test`. */
  readonly monitors: readonly ToldMonitor[];
  /** Earlier states of these monitors that became due together with the newest: for programs, which count every incident. */
  readonly earlier: readonly ToldMonitor[];
  /** What else is down beside these now: some names, and how many in all. 0 says that all else is up. */
  readonly others_down: { readonly count: number; readonly names: readonly string[] };
  readonly links: ToldLinks;
  readonly organisation: string;
  /** The organisation's time zone (IANA). */
  readonly time_zone: string;
  /** The idempotency key: the same with every attempt, another for every message. At most 100 letters, digits, `-` and `.`. */
  readonly key: string;
  readonly thread: ToldThread;
  /** When it became due. */
  readonly at: number;
};
