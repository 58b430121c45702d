-- Which private place saw and which confirmed an incident; null: a public probe. Two public ones are on different continents, as
-- ever; two private ones are different places; one of each never confirm each other. Rows of before have no places, and fit.
alter table incidents add column seen_place uuid, add column confirmed_place uuid;
alter table incidents drop constraint confirmed_from_another_continent;
alter table incidents add constraint confirmed_from_another_place check (
  confirmed_continent is null
  or case
    when seen_place is null and confirmed_place is null then confirmed_continent <> seen_continent
    else seen_place is not null and confirmed_place is not null and seen_place <> confirmed_place
  end) not valid;
-- In the key of evidence a private place stands behind its continent: "Europe/0196…". A row of before has the continent alone.
comment on column incident_evidence.continent is 'a continent, and behind it the private place, if one saw it';
