/** Numbers as people read them. */

/** Uptime with four decimals, as it is counted: 100 alone means no downtime. */
export const percentText = (percent: number | null): string =>
  percent === null ? '–' : percent === 100 ? '100 %' : `${percent.toFixed(4)} %`;

export const msText = (ms: number | null): string =>
  ms === null ? '–' : ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;

const groups = new Intl.NumberFormat('en-GB');

/** `1,440`. */
export const countText = (count: number): string => groups.format(count);
