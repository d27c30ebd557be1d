//! The memories of a league's players, made again from their journals.
//!
//! A player without a journal has its memory in the file alone; that one is left as it is.

use std::sync::Arc;

use league_core::letter::Peer;
use league_core::machine::Machine;
use league_core::player::{Event, MemoryRule, Player, PlayerRules};
use league_core::timeouts::Timeouts;
use league_protocol::id::{LeagueId, PlayerId};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;

use super::{Rebuilt, ReplayError, names_in, read};
use crate::config::ConfigLoader;
use crate::storage::document_writer::DocumentFiles;
use crate::storage::publishers::PlayerPublisher;
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::Entry;

pub(super) fn rebuild(
    root: &Root,
    league: &LeagueId,
    rebuilt: &mut Rebuilt,
) -> Result<(), ReplayError> {
    let memory = memory_rule(root)?;
    let mut archive = DocumentFiles::new(root.clone());
    for name in names_in(&root.players_folder())? {
        let Ok(id) = PlayerId::new(&name) else {
            continue;
        };
        let file = root.player_journal(&id);
        if !file.exists() {
            continue;
        }
        let mut player = Player::new(rules(memory));
        let mut publisher = PlayerPublisher::default();
        let mut took_part = false;
        let entries = read(&file, |entry: Entry<Record<Event>>| {
            if let Record::Event(event) = &entry.fact {
                player.apply(event);
                took_part |=
                    matches!(event, Event::Enrolled { league_id, .. } if league_id == league);
            }
            publisher.take_in(entry.sequence, entry.at, &entry.fact);
            Ok(())
        })?;
        if !took_part {
            continue;
        }
        rebuilt.entries += entries;
        for publication in publisher.rest(Timestamp::default(), &player) {
            archive.write(&publication)?;
            rebuilt.players += 1;
        }
    }
    Ok(())
}

/// How much is remembered, if a file says so; none is written here.
fn memory_rule(root: &Root) -> Result<MemoryRule, ReplayError> {
    if !root.player_defaults().exists() {
        return Ok(MemoryRule::default());
    }
    let defaults = ConfigLoader::new(root.clone()).load_player_defaults()?;
    Ok(defaults.memory.rule())
}

/// Of its rules a player's memory depends on nothing but how much it keeps.
fn rules(memory: MemoryRule) -> PlayerRules {
    PlayerRules {
        display_name: String::new(),
        version: String::new(),
        endpoint: String::new(),
        games: Vec::new(),
        timeouts: Timeouts::default(),
        manager: Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: Arc::from(""),
            dialect: Dialect::V2,
            speech: Some(CallStyle::Simple),
        }),
        wanted_id: None,
        strict: false,
        memory,
    }
}
