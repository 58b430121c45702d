import * as api from '../../shared/api/expiry.ts';
import { handle } from '../gate/bind.ts';
import { monitorKey } from '../gate/records.ts';
import { certificatesByEnd } from './queries.ts';

/** What ends later than a thousand others needs nobody's eye. */
const most = 1_000;

export const listCertificates = handle(api.listCertificates)(
  async ({ sql, organisation }, { monitor }) => {
    if (monitor !== null) await monitorKey(sql, organisation.id, monitor);
    const rows = await certificatesByEnd(sql, organisation.id, { monitor, most });
    return { items: rows, next_cursor: null };
  },
);
