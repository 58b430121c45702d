-- What status pages look like, who may see them, under which address of their own, what was written on them, and who follows them.
alter table status_pages
  add column language text not null default 'en' check (language in ('en', 'de', 'fr', 'es')),
  -- '#rrggbb' in small letters; null: the usual one.
  add column accent text check (accent ~ '^#[0-9a-f]{6}$'),
  add column access text not null default 'public' check (access in ('public', 'password', 'link')),
  add column password_hash text,
  -- Of the secret in a private page's link, which is shown once.
  add column link_fingerprint bytea,
  -- Grows when the password, the link or the way in changes: what was let in before is let in no more.
  add column access_version int not null default 0,
  -- In small letters, as DNS writes it.
  add column domain text,
  -- What a TXT record of the domain has to say.
  add column domain_token text,
  add column domain_proved_at timestamptz,
  add constraint status_pages_domain_has_token check ((domain is null) = (domain_token is null)),
  add constraint status_pages_proved_is_domain check (domain_proved_at is null or domain is not null);
-- Whoever proved a domain has it; to name one keeps nobody else from it.
create unique index status_pages_domain on status_pages (domain) where domain_proved_at is not null;

-- Apart from its page, so that nobody reads the bytes who wants the page.
create table status_page_logos (
  page_id uuid primary key references status_pages on delete cascade,
  type text not null check (type in ('image/png', 'image/jpeg', 'image/webp')),
  bytes bytea not null check (octet_length(bytes) between 1 and 102400),
  -- The beginning of a hash of the bytes, for its address and its ETag.
  version text not null
);

-- What is told on a page about an incident of a monitor that is published there.
create table status_page_posts (
  id uuid primary key,
  key bigint generated always as identity unique,
  page_id uuid not null references status_pages on delete cascade,
  organisation_id uuid not null,
  incident_id uuid not null references incidents on delete cascade,
  kind text not null check (kind in ('investigating', 'identified', 'monitoring', 'resolved')),
  text text not null,
  written_by uuid references users on delete set null,
  written_at timestamptz not null,
  -- When the mails to the page's subscribers were made.
  told_at timestamptz
);
create index status_page_posts_page on status_page_posts (page_id, key);
create index status_page_posts_incident on status_page_posts (incident_id);
create index status_page_posts_untold on status_page_posts (key) where told_at is null;

-- Who is mailed what is told on a page, once they said from their mailbox that they want it.
create table status_page_subscribers (
  id uuid primary key,
  page_id uuid not null references status_pages on delete cascade,
  email text not null,
  language text not null check (language in ('en', 'de', 'fr', 'es')),
  -- Of the secret in the mail that asks; null until it is made, and once it was answered.
  confirm_fingerprint bytea unique,
  asked_at timestamptz not null,
  confirmed_at timestamptz
);
create unique index status_page_subscribers_email on status_page_subscribers (page_id, lower(email));
create index status_page_subscribers_asked on status_page_subscribers (lower(email), asked_at);

-- That subscribers were mailed that an incident began, or that it is over, when nobody wrote anything.
create table status_page_told (
  page_id uuid not null references status_pages on delete cascade,
  incident_id uuid not null references incidents on delete cascade,
  event text not null check (event in ('began', 'over')),
  told_at timestamptz not null,
  primary key (page_id, incident_id, event)
);

-- On which pages a monitor and a group stand: asked with each incident, and when one is deleted.
create index status_page_monitors_monitor on status_page_monitors (monitor_id);
create index status_page_groups_group on status_page_groups (group_id);
