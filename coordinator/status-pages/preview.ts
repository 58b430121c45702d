import type { InputOf } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { handle } from '../gate/bind.ts';
import { type InOrganisation, orNotFound } from '../gate/context.ts';
import * as contract from './contract.ts';
import { accentFrom, endAfterUpdate } from './model.ts';
import { viewOf } from './public/frame.ts';
import {
  type PublishedPage,
  publishedPage,
  readPublished,
  type Unsaved,
} from './public/queries.ts';
import { mainPage, styleName } from './public/render.ts';
import { originOf } from './public/snapshot.ts';
import { reportById } from './report-queries.ts';

/** The page as its visitors would see it: the same renderer, with what is not saved yet. */

type Input = InputOf<typeof contract.previewStatusPage>;

export const previewStatusPage = handle(contract.previewStatusPage)(async (context, input) => {
  const { sql, organisation, now, with: parts } = context;
  const of = { id: input.page_id, organisation: organisation.id };
  const found = orNotFound(await publishedPage(sql, of), 'status_page_not_found');
  const draft = withChanges(found, input);
  const unsaved = await unsavedOf(context, input);
  const read = await readPublished(sql, parts.results, parts.accountSecrets, draft, now, unsaved);
  const isPost = input.post !== null || input.report !== null;
  // The editor changes nothing about what is over.
  const incidents = read.page.incidents.filter(({ resolvedAt }) => isPost || resolvedAt === null);
  const page = { ...read.page, incidents };
  const root = `/status/${page.slug}`;
  const view = viewOf(page, {
    root,
    origin: originOf({ slug: page.slug, domain: null }, parts.baseUrl()),
    isStale: false,
    hasMail: parts.door.mail,
    isPreview: true,
  });
  return { html: mainPage(view, `${root}/${styleName}`) };
});

function withChanges(found: PublishedPage, input: Input): PublishedPage {
  const given = Object.entries(input).filter(([, value]) => value !== null);
  const page = { ...found, ...Object.fromEntries(given) };
  const accent = accentOf(page.accent ?? '', found.accent);
  return { ...page, description: page.description || null, accent };
}

/** While somebody types it, a colour is often none. */
function accentOf(text: string, before: string | null): string | null {
  try {
    return accentFrom(text);
  } catch (error) {
    if (error instanceof Refusal) return before;
    throw error;
  }
}

async function unsavedOf(
  { sql, organisation, now }: InOrganisation,
  { page_id: page, report, post }: Input,
): Promise<Unsaved> {
  if (post !== null)
    return {
      post: {
        incident: post.incident,
        post: { kind: post.kind, text: post.text, at: now },
      },
    };
  if (report === null) return {};
  const { id, title, kind, text, affected, cause } = report;
  const before =
    id === null ? undefined : await reportById(sql, { organisation: organisation.id, page }, id);
  const ends = endAfterUpdate(before?.ends_at ?? null, kind, now);
  const posted = (before?.updates ?? []).map((each) => ({
    kind: each.kind,
    text: each.text,
    at: Date.parse(each.written_at),
  }));
  return {
    report: {
      id: id ?? newId(),
      title,
      startedAt: before?.started_at ?? now,
      endsAt: ends,
      isMeasured: cause !== null,
      affected: affected ?? before?.affected ?? [],
      posts: [...posted.toReversed(), ...(text === '' ? [] : [{ kind, text, at: now }])],
    },
  };
}
