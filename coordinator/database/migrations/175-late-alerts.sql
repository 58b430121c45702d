-- An outage that became known when it was over is told late (rule 4).
alter table alerts drop constraint alerts_event_check;
alter table alerts add constraint alerts_event_check
  check (event in ('down', 'up', 'closed', 'was_down'));
