import { type Heading, heading, linkButton } from './elements.ts';
import { noForm } from './form-data.ts';
import { type FormState, formSummary, freshForm, textField } from './forms.ts';
import { type Html, html, icon, type Part } from './html.ts';
import { type Section, type ShownPage, show } from './page.ts';

type Question = {
  readonly title: string;
  readonly place: Section;
  /** The title with a question mark, if not said. */
  readonly sentence?: string;
  readonly below?: Part;
  /** Ends where Cancel leads. */
  readonly trail: NonNullable<Heading['trail']>;
  /** What to know before. */
  readonly facts?: Html;
  /** Refusals of the act. */
  readonly state?: FormState;
  /** The words of a red button, for what deletes; else the button. */
  readonly act: string | Html;
  /** A name to type before, in the field `name`. */
  readonly typed?: string;
};

/** Asks before something is done, on a page of its own: a POST to the same address does it. */
export function confirm({
  title,
  place,
  sentence = `${title}?`,
  below,
  trail,
  facts,
  state,
  act,
  typed,
}: Question): ShownPage {
  return show({
    title,
    place,
    status: state?.status ?? 200,
    main: html`
      <div class="card stack question">
        ${heading({ sentence, below, trail })}
        ${state && formSummary(state)}
        ${facts}
        <form class="form" method="post">
          ${
            typed !== undefined &&
            textField({
              name: 'name',
              label: 'Type the name to confirm',
              state: state ?? freshForm(noForm),
              autocomplete: 'off',
              required: true,
              autofocus: true,
              help: html`<span class="name-to-type">${typed}</span>`,
            })
          }
          <div class="actions">
            ${
              typeof act === 'string'
                ? html`<button class="button button-danger">${icon('delete')}${act}</button>`
                : act
            }
            ${linkButton(trail.at(-1)?.href ?? '/', 'Cancel')}
          </div>
        </form>
      </div>
    `,
  });
}
