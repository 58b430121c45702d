-- Windows whose rule has COUNT were taken for ended before their last occurrences were stored: housekeeping looks at each of them once more.
update maintenance_windows set expanded_until = now()
where deleted_at is null and cut_at is null and expanded_until is null and rrule ~* 'COUNT=';
