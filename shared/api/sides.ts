import { array, grown, nullable, object, string } from './fields.ts';
import { nullableString } from './operation.ts';

const SideOut = object('SideOut', {
  failing: array(string({ example: 'Europe' }), { meaning: 'From where it fails.' }),
  passing: array(string({ example: 'Asia' }), { meaning: 'From where it passes.' }),
});

/** Of a monitor that public and private places check. */
export const sides = grown(
  nullable(
    object('SidesOut', {
      verdict: nullableString(
        '`way_in`: it answers inside and fails outside; `service`: it fails inside too; `inside_only`; null while the sides tell nothing together.',
        { example: 'way_in' },
      ),
      sentence: nullableString('The verdict in words.', {
        example:
          'Up inside (Office Berlin), down from three continents: check edge, firewall or DNS.',
      }),
      inside: SideOut,
      outside: SideOut,
    }),
    {
      description:
        'What private places see (`inside`) beside what public ones see (`outside`); null where one side checks.',
      example: null,
    },
  ),
  null,
);
