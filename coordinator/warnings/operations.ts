import { handle } from '../gate/bind.ts';
import { monitorKey } from '../gate/records.ts';
import * as contract from './contract.ts';
import { certificatesByEnd } from './queries.ts';

/** What ends later than a thousand others needs nobody's eye. */
const most = 1_000;

export const listCertificates = handle(contract.listCertificates)(
  async ({ sql, organisation }, { monitor }) => {
    if (monitor !== null) await monitorKey(sql, organisation.id, monitor);
    const rows = await certificatesByEnd(sql, organisation.id, { monitor, most });
    return { items: rows };
  },
);
