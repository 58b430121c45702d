const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** `6 min 12 s`, `1 h 21 min`, `21 d 4 h`: the two largest units, rounded down; below a second `263 ms`. */
export const durationText = (length: number): string => {
  const ms = Math.max(0, Math.floor(length));
  if (ms < 1_000) return `${ms} ms`;
  const first = units.findIndex(([, size]) => ms >= size);
  const [name, size] = units[first] ?? ['s', 1_000];
  const whole = Math.floor(ms / size);
  const next = units[first + 1];
  const rest = next ? Math.floor((ms - whole * size) / next[1]) : 0;
  return rest === 0 || !next ? `${whole} ${name}` : `${whole} ${name} ${rest} ${next[0]}`;
};

/** `6 min`: the largest unit alone, rounded down; `0 s` below a second. */
export const briefDuration = (length: number): string => {
  const ms = Math.max(0, length);
  const [name, size] = units.find(([, each]) => ms >= each) ?? ['s', 1_000];
  return `${Math.floor(ms / size)} ${name}`;
};
