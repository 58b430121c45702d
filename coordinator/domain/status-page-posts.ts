import { Refusal } from '../../shared/base/errors.ts';
import { storable } from './given-names.ts';
import type { PageLanguage, PostKind } from './status-page.ts';

type Template = (name: string) => string;

/** What is usually said, in the language of the page. `name`: the one that was chosen for its audience. */
const templates: Readonly<Record<PageLanguage, Readonly<Record<PostKind, Template>>>> = {
  en: {
    investigating: (name) => `${name} is not working as it should. We are finding out why.`,
    identified: (name) => `We know why ${name} is not working, and are repairing it.`,
    monitoring: (name) => `${name} is working again. We are watching whether it stays so.`,
    resolved: (name) => `${name} is working as usual again.`,
  },
  de: {
    investigating: (name) => `${name} funktioniert nicht wie gewohnt. Wir suchen die Ursache.`,
    identified: (name) => `Wir wissen, warum ${name} nicht funktioniert, und beheben es.`,
    monitoring: (name) => `${name} funktioniert wieder. Wir beobachten, ob es so bleibt.`,
    resolved: (name) => `${name} funktioniert wieder wie gewohnt.`,
  },
  fr: {
    investigating: (name) => `${name} ne fonctionne pas normalement. Nous en cherchons la cause.`,
    identified: (name) => `Nous savons pourquoi ${name} ne fonctionne pas et procédons à la réparation.`,
    monitoring: (name) => `${name} fonctionne de nouveau. Nous vérifions que cela dure.`,
    resolved: (name) => `${name} fonctionne de nouveau normalement.`,
  },
  es: {
    investigating: (name) => `${name} no funciona con normalidad. Estamos buscando la causa.`,
    identified: (name) => `Sabemos por qué ${name} no funciona y lo estamos reparando.`,
    monitoring: (name) => `${name} vuelve a funcionar. Estamos comprobando que siga así.`,
    resolved: (name) => `${name} vuelve a funcionar con normalidad.`,
  },
};

export const usualPost = (language: PageLanguage, kind: PostKind, name: string): string => templates[language][kind](name);

const longest = 2_000;

/** @throws Refusal `post_invalid`. */
export const postTextFrom = (given: string): string => {
  const text = given.trim();
  if (text !== '' && text.length <= longest && storable(text)) return text;
  throw new Refusal(
    'post_invalid',
    `text: write 1 to ${longest} characters, without NUL or broken ones; or leave it out for the usual words.`,
  );
};
