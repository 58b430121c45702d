import type { Log } from '../base/log.ts';

/**
 * Messages that could not be processed. The first of a sender is logged at once; its others are
 * counted and logged once a minute, so that a sender of garbage does not fill the log.
 */
export type FailureLog = (error: unknown, subject: string) => void;

const countedMs = 60_000;

export function createFailureLog(log: Log): FailureLog {
  type Counted = { messages: number; error: unknown; subject: string };
  const senders = new Map<string, Counted>();
  const tell = ({ messages, error, subject }: Counted): void =>
    log.error({ err: error, subject, messages }, 'could not process a message');
  const begin = (sender: string): void => {
    const counted: Counted = { messages: 0, error: undefined, subject: '' };
    senders.set(sender, counted);
    setTimeout(() => {
      senders.delete(sender);
      if (counted.messages === 0) return;
      tell(counted);
      begin(sender);
    }, countedMs).unref();
  };
  return (error, subject) => {
    const sender = senderOf(subject);
    const counted = senders.get(sender);
    if (counted) Object.assign(counted, { messages: counted.messages + 1, error, subject });
    else {
      tell({ messages: 1, error, subject });
      begin(sender);
    }
  };
}

/** The second part of a subject names who sent it, where that is a probe. */
function senderOf(subject: string): string {
  return subject.split('.', 2).join('.');
}
