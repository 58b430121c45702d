import type { RefusalCode } from '../../../shared/base/errors.ts';
import { copyable } from './rest-docs-calls.ts';
import { keyHeader, keyPattern, mostKeyCharacters } from './rest-idempotency-key.ts';
import { meaningOf } from './rest-refusal-words.ts';

/** What the document and its page say of calls that are done once, however often they are sent. */

export const keyParameter = {
  name: keyHeader,
  in: 'header',
  required: false,
  description:
    'Any text of your choice, best a random UUID, new for each thing that you want done. The same call sent again with it within 24 hours gets the first answer and does nothing.',
  schema: { type: 'string', minLength: 1, maxLength: mostKeyCharacters, pattern: keyPattern },
} as const;

/** Of an answer; neither is on each of its kind. */
export const replayed = {
  description: '`true` where this is the answer that was given before to the same `Idempotency-Key`; absent otherwise.',
  required: false,
  schema: { type: 'string', enum: ['true'] },
} as const;
export const whileInUse = {
  description: 'Whole seconds to wait, with `idempotency_key_in_use` alone.',
  required: false,
  schema: { type: 'integer' },
} as const;

/** Of every POST: a key may belong to another request. */
export const reusedKey = ['idempotency_key_reused'] as const;

/** The answer to what is not of the form, where it may also be one of these refusals: they have the status 422, too. */
export const validationOr = <Response extends { readonly description: string; readonly content?: object }>(
  validation: Response,
  codes: readonly RefusalCode[],
) => ({
  ...validation,
  description: [
    validation.description,
    ...codes.map((code) => `\`${code}\`: ${meaningOf(code)} Then the body has \`error\` in place of \`detail\`.`),
  ].join('\n\n'),
  content: Object.fromEntries(
    Object.entries(validation.content ?? {}).map(([type, media]) => {
      const { example, ...rest } = { example: undefined, ...Object(media) };
      const refused = codes.map((code) => [code, { summary: code, value: { error: { code, message: meaningOf(code) } } }]);
      return [type, { ...rest, examples: { validation: { summary: 'not of the form', value: example }, ...Object.fromEntries(refused) } }];
    }),
  ),
});

const example = `KEY=$(uuidgen)
curl -sS --fail-with-body --retry 3 --retry-all-errors -X POST "$ANTIPODE_URL/api/v1/monitors" \\
  -H "Authorization: Bearer $ANTIPODE_TOKEN" -H "Idempotency-Key: $KEY" \\
  -H 'Content-Type: application/json' -d '{"type": "https", "target": "https://shop.example/"}'`;

export const onceChapter = (): string => `<h2 id="once">Sending again</h2>
<p>A call whose answer got lost may have been done or not. Give a POST the header <code>Idempotency-Key</code>, and send it again until it is answered: it is done once.</p>
${copyable('One monitor, however often it is sent', example)}
<ul>
<li>A key is one to ${mostKeyCharacters} printable characters of ASCII, blanks at its ends left out. It belongs to your token, to the method, the address and the body, byte for byte, for 24 hours. With another request it is refused: 422 <code>idempotency_key_reused</code>.</li>
<li>A repeat gets the status, the body and the <code>Location</code> of the first answer, and <code>Idempotency-Replayed: true</code>. It tells what was true then, changes nothing, and counts against the rate like any call.</li>
<li>While the first is being worked on, a repeat is answered 409 <code>idempotency_key_in_use</code> with <code>Retry-After</code>.</li>
<li>Kept are successes, and refusals of what was asked, such as a limit of the plan, a target that cannot be watched or a name that is taken: when you have changed something, send a new key. Not kept, so that the same key can still succeed: 401, 422, 429, 5xx, and what your token or role may not do.</li>
<li>What a call does and its answer are one transaction of the database: whatever part of the service dies at whatever moment, there are both or neither. Mails, messages and probes are told from there, by what was written with it.
  Only <code>checkStatusPageDomain</code> looks something up in DNS before, and <code>createChannel</code> sends a test message; a call that died before its answer does that again.</li>
<li>An answer over 512 KiB is not kept, and of all that an organisation is answered in a day the newest 64 MiB are. Also then nothing is done twice: a repeat is answered 409 <code>idempotency_answer_too_large</code>, which says when the call was answered; read what there is.</li>
<li>Answers lie encrypted in the database and are deleted after a day. They are not in backups. On GET, PATCH and DELETE the header is ignored.</li>
</ul>`;
