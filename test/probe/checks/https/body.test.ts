import { describe, expect, test } from 'vitest';
import { answered, judge, response } from '../../support/observations.ts';

describe('a whole number with more digits than a number of ours holds', () => {
  const id = '12345678901234567890';
  const of = (assertion: object, digits = id) =>
    judge(answered(response(200, `{"name": "${'9'.repeat(20)}", "list": [{"id": ${digits}}]}`)), {
      json: [{ path: '$.list[0].id', ...assertion }],
    });

  test('is compared by its digits', () => {
    expect(of({ equals: 12_345_678_901_234_567_000 })).toMatchObject({
      outcome: 'fail',
      evidence: { saw: id },
    });
    expect(of({ equals: 12_345_678_901_234_567_000 }, '12345678901234567000').outcome).toBe('ok');
    expect(of({ equals: id }).outcome).toBe('ok');
    expect(of({ equals: '12345678901234567891' }).outcome).toBe('fail');
    expect(of({ equals: 9_007_199_254_740_992 }, '9007199254740993').outcome).toBe('fail');
    expect(of({ gt: 12_345_678_901_234_567_000 }).outcome).toBe('ok');
    expect(of({ lt: 12_345_678_901_234_567_000 }).outcome).toBe('fail');
    expect(of({ lt: -12_345_678_901_234_567_000 }, `-${id}`).outcome).toBe('ok');
  });
});

describe('the charset of a body', () => {
  const body = (bytes: Buffer, type: string): Parameters<typeof answered>[0] => ({
    ...response(200, '', type === '' ? [] : [['content-type', type]]),
    body: bytes,
  });
  const latin = (text: string) => Buffer.from(text, 'latin1');
  test.each([
    ['its mark wins over the header', Buffer.from('\ufeffcafé'), 'text/html; charset=iso-8859-1'],
    ['a mark of UTF-16', Buffer.from('\ufeffcafé', 'utf16le'), 'text/html; charset=utf-8'],
    [
      'the header wins over the document',
      Buffer.from('<meta charset="iso-8859-1">café'),
      'text/html; charset=utf-8',
    ],
    ['<meta charset>', latin('<!doctype html><head><meta charset=windows-1252>café'), 'text/html'],
    [
      '<meta http-equiv>',
      latin('<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=ISO-8859-1">café'),
      'text/html',
    ],
    [
      '<?xml encoding?>',
      latin('<?xml version="1.0" encoding="ISO-8859-1"?><a>café</a>'),
      'application/xml',
    ],
    ['the document without a header', latin('<meta charset="latin1">café'), ''],
    ['a comment says nothing', Buffer.from('<!-- <meta charset="latin1"> -->café'), 'text/html'],
    [
      'what is no document says nothing',
      Buffer.from('{"a":"<meta charset=latin1>café"}'),
      'application/json',
    ],
    ['a document in ASCII is no UTF-16', Buffer.from('<meta charset="utf-16">café'), 'text/html'],
  ] as const)('%s', (_, bytes, type) => {
    expect(judge(answered(body(bytes, type)), { body_contains: 'café' })).toMatchObject({
      outcome: 'ok',
    });
  });
});
