import { type RecordType, recordTypes } from '../../shared/checks/dns/checks-dns-record-types.ts';
import type { DnsRecord } from './dns-message.ts';

/** Records of the asked type at the end of the chain of aliases, the lowest TTL on the way, and the aliases one after the other. */
export type Asked = { readonly records: readonly DnsRecord[]; readonly ttl: number | null; readonly aliases: readonly string[] };

/** One for all, because most names have none. */
const noAliases: readonly string[] = [];

const isAsked = ({ name, type, fields }: DnsRecord, wantedName: string, wantedType: number): boolean =>
  name === wantedName && type === wantedType && fields !== null;

const lowestTtl = (records: readonly DnsRecord[]): number => {
  let lowest = Number.POSITIVE_INFINITY;
  for (const { ttl } of records) if (ttl < lowest) lowest = ttl;
  return lowest;
};

/** What lies beside the chain was not asked for. Most answers are nothing but the records asked for, and are taken as they are. */
export const recordsAsked = (asked: { readonly name: string; readonly type: RecordType }, answers: readonly DnsRecord[]): Asked => {
  const wanted = recordTypes[asked.type];
  const passed: string[] = [];
  let { name } = asked;
  let lowest = Number.POSITIVE_INFINITY;
  for (;;) {
    const isPlain = answers.every((record) => isAsked(record, name, wanted));
    const records = isPlain ? answers : answers.filter((record) => isAsked(record, name, wanted));
    const alias = isPlain ? undefined : answers.find((record) => isAsked(record, name, recordTypes.CNAME));
    const next = alias?.fields?.[0];
    lowest = Math.min(lowest, lowestTtl(records));
    if (records.length > 0 || alias === undefined || next === undefined || next === name || passed.includes(next))
      return {
        records,
        ttl: Number.isFinite(lowest) ? lowest : null,
        aliases: passed.length === 0 ? noAliases : [...passed.slice(1), name],
      };
    lowest = Math.min(lowest, alias.ttl);
    passed.push(name);
    name = next;
  }
};

/** Whether the name itself is there, as an alias, wherever that leads. */
export const isAlias = (name: string, answers: readonly DnsRecord[]): boolean =>
  answers.some((record) => record.name === name && record.type === recordTypes.CNAME);
