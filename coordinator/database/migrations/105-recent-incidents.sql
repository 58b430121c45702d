-- The incidents of an organisation that ended of late, however many ended before.
create index incidents_resolved on incidents (organisation_id, resolved_at);
