import type { Heard, Span, Story } from './notification-world.ts';

/** What must be true of all that was told, said without any of the code that tells. */

const second = 1_000;
const minute = 60 * second;
const pauses = [1, 5, 30, 120, 600];

const isIn = (spans: readonly Span[], at: number): boolean =>
  spans.some(({ from, to }) => from <= at && at < to);
const clockOf = (at: number): string => new Date(at).toISOString().slice(11, 16);

export const faultsOfNotifications = (story: Story, { messages, resorts }: Heard): string[] => {
  const faults: string[] = [];
  const outageOf = new Map(story.outages.map((outage) => [outage.incident, outage]));
  const outside = (at: number): boolean =>
    story.hours !== null && !(story.hours.from <= clockOf(at) && clockOf(at) < story.hours.to);
  const isIdle = (start: number, end: number): boolean =>
    story.idle.some(({ from, to }) => from < end && start < to);
  const told = messages.flatMap(({ left, taken, attempts, items }) =>
    items.flatMap(({ incident, event, isWithdrawn }) => {
      const outage = outageOf.get(incident);
      return outage ? [{ left, taken, attempts, event, outage, isWithdrawn }] : [];
    }),
  );
  for (const { left, taken, event, outage, isWithdrawn } of told) {
    if (story.chosen !== null && !story.chosen.includes(outage.monitor))
      faults.push(`30: ${outage.monitor} was told of, and is not covered`);
    const quiet = event === 'down' || event === 'reminder' || event === 'flapping';
    if (quiet && isIn(story.mutes, left))
      faults.push(`36: ${event} left at ${left} while all was muted`);
    if (quiet && outside(left)) faults.push(`36: ${event} left at ${left} outside hours`);
    if (event === 'down' && left < outage.down + story.delay_s * second)
      faults.push(`33: a "down" left before its delay was over`);
    // What something held until the end is told to nobody.
    if (event === 'was_down' && outage.up < outage.down + story.delay_s * second)
      faults.push('33: it was over before its delay was');
    if (
      event === 'was_down' &&
      story.mutes.some(({ from, to }) => from <= outage.down && outage.up < to)
    )
      faults.push('36: it was over before the mute was');
    if (event === 'was_down' && outside(outage.down) && outside(outage.up))
      faults.push('36: it was over before the hours began');
    const acknowledged = outage.acknowledged ?? Number.POSITIVE_INFINITY;
    if ((event === 'reminder' || (event === 'down' && story.delay_s > 0)) && acknowledged < left)
      faults.push(`34: ${event} after it was acknowledged`);
    if (event === 'down' && !isWithdrawn && taken !== null && taken > outage.up + 20 * second)
      faults.push('31: a "down" was taken long after its end');
  }
  for (const { attempts } of messages)
    for (const [index, at] of attempts.entries()) {
      const next = attempts[index + 1];
      if (next !== undefined && next - at < (pauses[index] ?? 3_600) * second)
        faults.push(`31: attempt ${index + 2} came too early`);
    }
  for (const [index, { left: from }] of messages.entries())
    for (const [more, { left: to }] of messages.slice(index).entries())
      if (more + 1 > 4 + Math.floor((to - from) / (15 * second)))
        faults.push(`32: ${more + 1} messages within ${to - from} ms`);
  const burst = new Set(
    messages.filter(({ items }) =>
      items.some(({ event, incident }) => event === 'down' && outageOf.get(incident)?.isOfBurst),
    ),
  );
  if (story.hours === null && story.mutes.length === 0 && burst.size > 4)
    faults.push(`32: a burst was ${burst.size} messages`);
  for (const outage of story.outages) {
    const own = told.filter((each) => each.outage === outage);
    const reminders = own
      .filter(({ event }) => event === 'down' || event === 'reminder')
      .map(({ left }) => left);
    for (const [index, at] of reminders.entries()) {
      const [last, before] = [reminders[index - 1], reminders[index - 2]];
      if (
        story.hours === null &&
        story.mutes.length === 0 &&
        !isIdle(outage.down, outage.up) &&
        last !== undefined &&
        before !== undefined &&
        at - last < 1.5 * (last - before)
      )
        faults.push('35: a reminder did not come at twice the distance');
    }
    const earlier = story.outages.filter(
      ({ monitor, down }) => monitor === outage.monitor && down < outage.down,
    );
    const near = earlier.filter(({ down }) => down > outage.down - 30 * minute);
    const chain = [...near, outage];
    // A rest of 15 min within it would have begun the count anew.
    const isChain = chain.every(
      ({ down }, index) => index === 0 || down - (chain[index - 1]?.up ?? 0) < 15 * minute,
    );
    if (
      near.length >= 2 &&
      isChain &&
      outage.up - outage.down < 5 * minute &&
      near.every(({ down, up }) => up - down < 5 * minute) &&
      own.some(({ event }) => event === 'down' || event === 'was_down')
    )
      faults.push('37: a third short outage within 30 min was told as "down"');
    const isPlain =
      earlier.every(({ up }) => up < outage.down - 60 * minute) &&
      story.delay_s === 0 &&
      (story.chosen?.includes(outage.monitor) ?? true);
    const isFree =
      story.hours === null &&
      !story.mutes.some(({ from, to }) => from < outage.up && to > outage.down);
    if (isPlain && isFree && outage.up - outage.down > 30 * second && outage.up < story.until) {
      const down = own.find(({ event }) => event === 'down' || event === 'was_down');
      const isQuiet = !messages.some(
        ({ left }) => left < outage.down && left > outage.down - 60 * second,
      );
      const isFirst = !story.outages.some(
        (other) =>
          other.down <= outage.down && other.down > outage.down - 60 * second && other !== outage,
      );
      const patience = isQuiet && isFirst ? 0 : 60 * second;
      if (
        !isIdle(outage.down - minute, outage.down + minute) &&
        (!down || down.left > outage.down + patience)
      )
        faults.push('32: an outage was not told in time');
    }
    // It was due when it began: however short it was, and however full the bucket, somebody hears
    // of it.
    if (
      isPlain &&
      isFree &&
      outage.up < story.until - 10 * minute &&
      !own.some(({ event }) => event === 'down' || event === 'was_down')
    )
      faults.push('31: an outage that was due was told to nobody');
    const untaken = own.find(
      ({ event, taken, left }) =>
        event === 'down' && (taken ?? Number.POSITIVE_INFINITY) > left + 2 * minute,
    );
    if (
      untaken &&
      Math.min(outage.up, story.until) > untaken.left + 3 * minute &&
      !isIdle(untaken.left, untaken.left + 3 * minute) &&
      !resorts.some(({ incident }) => incident === outage.incident)
    )
      faults.push('38: nobody took a "down", and no owner was mailed');
  }
  return faults;
};
