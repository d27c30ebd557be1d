-- Version 1. A league is its journals, line by line as the files have them, and its secrets.
create schema if not exists league;

create table league.schema_version (version integer not null);
insert into league.schema_version values (1);

-- Who writes a journal now. The epoch grows with each holder, and every write names it.
create table league.leases (
    league_id text not null,
    agent text not null,
    holder text not null,
    address text not null,
    epoch bigint not null,
    until timestamptz not null,
    over boolean not null default false,
    primary key (league_id, agent)
);

create table league.events (
    league_id text not null,
    agent text not null,
    sequence bigint not null,
    line text not null,
    primary key (league_id, agent, sequence)
);

create table league.secrets (
    league_id text not null,
    name text not null,
    body text not null,
    primary key (league_id, name)
);

-- For people with SQL: one row for each result, as the manager recorded it.
create view league.results as
select league_id,
       sequence,
       event ->> 'match_id' as match_id,
       event -> 'result' as result,
       (event ->> 'attempt')::integer as attempt,
       event ->> 'referee' as referee_id,
       event ->> 'at' as at
from (
    select league_id, sequence, line::jsonb #> '{fact,event,result_recorded}' as event
    from league.events
    where agent = 'manager' and line like '%"fact":{"event":{"result_recorded":%'
) as recorded;
