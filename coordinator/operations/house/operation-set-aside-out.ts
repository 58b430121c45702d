import type { SetAside } from '../../store/store-set-aside.ts';

export const setAsideOut = ({ id, subject, reason, at, bytes, attempts, retry_asked_at }: SetAside) => ({
  ...{ id, subject, reason, bytes, attempts },
  at: at.toISOString(),
  retry_asked_at: retry_asked_at?.toISOString() ?? null,
});
