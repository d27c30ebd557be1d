//! Those who take part in a league, as they are before it begins.

use std::sync::Arc;

use league_core::league::League;
use league_core::letter::Peer;
use league_core::player::{MemoryRule, PlayerRules};
use league_core::referee::RefereeRules;

use crate::Who;
use crate::setting::{Person, Setting, barred_endpoint, endpoint};

#[expect(
    clippy::unwrap_used,
    reason = "the rules are drawn from values that make a league"
)]
pub(super) fn league(setting: &Setting) -> League {
    League::new(setting.rules.clone(), setting.secret).unwrap()
}

pub(super) fn referee_rules(
    setting: &Setting,
    who: Who,
    capacity: u32,
    manager: &Arc<Peer>,
) -> RefereeRules {
    RefereeRules {
        display_name: format!("Referee {who}"),
        version: "1.0.0".into(),
        wanted_id: None,
        endpoint: endpoint(who).to_string(),
        games: vec![setting.rules.game_type.clone()],
        max_concurrent: capacity,
        patience: setting.rules.patience,
        breaker: setting.rules.breaker,
        manager: Arc::clone(manager),
    }
}

pub(super) fn player_rules(
    setting: &Setting,
    (who, person): (Who, &Person),
    manager: &Arc<Peer>,
) -> PlayerRules {
    let home = match person.is_barred {
        true => barred_endpoint(who),
        false => endpoint(who),
    };
    PlayerRules {
        display_name: format!("Player {who}"),
        version: "1.0.0".into(),
        endpoint: home.to_string(),
        games: vec![setting.rules.game_type.clone()],
        patience: setting.rules.patience,
        manager: Arc::clone(manager),
        wanted_id: None,
        strict: setting.rules.strict,
        memory: MemoryRule::default(),
    }
}

/// How many facts each agent notes if nothing fails, so that its journal has room for them.
pub(super) struct UsualFacts {
    pub(super) manager: usize,
    pub(super) referee: usize,
    pub(super) player: usize,
}

impl UsualFacts {
    pub(super) fn of(setting: &Setting) -> Self {
        let (players, referees) = (setting.players.len(), setting.capacities.len());
        let matches = players * players / 2;
        Self {
            // Each comes, each match has a result, each round opens and closes.
            manager: players + referees + matches + 2 * players,
            // A match is taken, begins, is decided and put away.
            referee: 4 * matches / referees.max(1),
            // A match is announced and remembered.
            player: 2 * players + 2,
        }
    }
}
