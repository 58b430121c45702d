import { join } from 'node:path';
import { expect, test } from 'vitest';
import { channelKinds } from '../../../../coordinator/notifications/kinds/index.ts';
import type { Field } from '../../../../coordinator/notifications/kinds/types.ts';
import { projectFolder } from '../../../../deploy/node/places.mjs';

/**
 * What API, CLI and operator want in `config`, for people to read; a form asks for it by itself.
 */

const fieldWords = (
  name: string,
  { label, hint, secret, optional, input, choices }: Field,
): string => {
  const notes = [
    ...(optional ? ['optional'] : []),
    ...(input === 'generated' ? ['made here and answered once'] : secret ? ['secret'] : []),
    ...(choices === undefined ? [] : [`one of ${choices.map((each) => `\`${each}\``).join(', ')}`]),
  ];
  const about = [label, ...(notes.length === 0 ? [] : [` (${notes.join('; ')})`])].join('');
  return `\`${name}\`: ${about}${hint === undefined ? '' : `. ${hint}`}`.replace(/[.…]*$/, (end) =>
    end.replace(/\.$/, ''),
  );
};

const document = (): string =>
  [
    '# Kinds of channels',
    '',
    'What stands in `kind` and `config` of a channel, in the API, the command line and files.',
    '',
    'The pages ask for it in a form. What is secret is stored encrypted and shown as `***`.',
    '',
    '| `kind` | what it does | `config` |',
    '|---|---|---|',
    ...channelKinds.map(({ id, name, about, fields }) => {
      const config = Object.entries(fields).map(([field, of]) => fieldWords(field, of));
      return `| \`${id}\` | **${name}.** ${about} | ${config.join('<br>')} |`.replaceAll(
        /(?<=.)\|(?=[^ ])/g,
        '\\|',
      );
    }),
    '',
  ].join('\n');

test('the page about kinds says what the rows of the kinds say', async () => {
  await expect(document()).toMatchFileSnapshot(join(projectFolder, 'docs/channels.md'));
});
