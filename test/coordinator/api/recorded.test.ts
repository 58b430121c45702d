import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restServer, token } from './server.ts';

/**
 * What FastAPI 0.142 with pydantic 2.13 answered to bodies and queries as they stand on the wire, recorded once from the real thing. Of JSON
 * that is broken the form is FastAPI's; the words, and the offset inside a broken string, are ours.
 */
type Outcome = { readonly value?: unknown; readonly status?: number; readonly detail?: unknown };
type Body = Outcome & { readonly media: string | null; readonly body: string };
type Encoded = Outcome & { readonly media: string; readonly hex: string };
type Query = Outcome & { readonly query: string };

const lines = <Row>(file: string): readonly Row[] =>
  readFileSync(new URL(`recorded/${file}`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

const outcome = (status: number, text: string): Outcome => {
  const answer = JSON.parse(text);
  if (status === 422) return { detail: answer.detail };
  return status < 300 ? { value: answer } : { status };
};

const theirs = ({ value, status, detail }: Outcome): Outcome =>
  status === undefined ? (detail === undefined ? { value } : { detail }) : { status };

/** What version 1 grew by since: members that nobody sent, and that what was not sent may stay as it is. */
const grown = (recorded: Outcome, sent = ''): Outcome => {
  const { value, ...rest } = theirs(recorded);
  if (typeof value !== 'object' || value === null) return theirs(recorded);
  const left = sent.includes('affects_group_status') ? {} : { affects_group_status: null };
  return { ...rest, value: { external_id: null, tags: null, ...value, ...left } };
};

let app: FastifyInstance;
beforeAll(async () => {
  ({ app } = await restServer());
});
afterAll(() => app.close());

describe('The REST face', () => {
  it('reads bodies as FastAPI does: media types, broken JSON with its offset, nothing, null', async () => {
    const rows = lines<Body>('bodies.jsonl');
    expect(rows.length).toBeGreaterThan(200);
    for (const row of rows) {
      const response = await app.inject({
        method: 'POST',
        url: '/api/v1/monitors',
        headers: { authorization: token, ...(row.media === null ? {} : { 'content-type': row.media }) },
        payload: Buffer.from(row.body),
      });
      expect([row.media, row.body, outcome(response.statusCode, response.body)]).toEqual([row.media, row.body, grown(row, row.body)]);
    }
  });

  it('reads bodies in each of the encodings that FastAPI reads, with and without a byte order mark', async () => {
    const rows = lines<Encoded>('encodings.jsonl');
    expect(rows.length).toBeGreaterThan(40);
    for (const row of rows) {
      const response = await app.inject({
        method: 'POST',
        url: '/api/v1/monitors',
        headers: { authorization: token, 'content-type': row.media },
        payload: Buffer.from(row.hex, 'hex'),
      });
      expect([row.hex, outcome(response.statusCode, response.body)]).toEqual([row.hex, grown(row)]);
    }
  });

  it('reads queries as FastAPI does: repeated, empty, unknown and badly encoded ones', async () => {
    const rows = lines<Query>('queries.jsonl');
    expect(rows.length).toBeGreaterThan(60);
    for (const row of rows) {
      // On the wire a query is bytes, which Node hands on one by one.
      const url = `/api/v1/incidents?${Buffer.from(row.query).toString('latin1')}`;
      const response = await app.inject({ method: 'GET', url, headers: { authorization: token } });
      expect([row.query, outcome(response.statusCode, response.body)]).toEqual([row.query, theirs(row)]);
    }
  });
});
