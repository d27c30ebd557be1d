//! Which levers can do something now. A lever is tried on everything that it could be pulled for, by
//! the check that decides on it, so that what is offered and what is accepted do not differ.

use std::iter::once;
use std::time::Duration;

use league_protocol::id::{MatchId, PlayerId};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;

use super::lever::{Lever, LeverRefusal, PlayedMatches};
use super::{League, Phase};

/// A lever that failed on so many subjects may still do something for another one.
const MAX_TRIALS: usize = 10_000;

impl League {
    /// Why a lever of this name can do nothing now; `None` if it can.
    pub fn why_idle(&self, at: Timestamp, lever: &str) -> Option<String> {
        match lever {
            "start" => return self.check_startable().err().map(|why| why.to_string()),
            "pause" | "resume" | "close_registration" => {
                let trial = self.trials(at, lever).next()?;
                if let Some(state) = self.is_so_already(&trial, None) {
                    return Some(state.to_owned());
                }
            }
            _ => {}
        }
        let mut why = None;
        for (count, trial) in self.trials(at, lever).enumerate() {
            match self.effect(at, &trial) {
                Ok(_) => return None,
                Err(_) if count >= MAX_TRIALS => return None,
                Err(refusal) if is_about_subject(&refusal) => {}
                Err(refusal) => why = why.or_else(|| Some(refusal.to_string())),
            }
        }
        why.or_else(|| Some(no_subject(lever).to_owned()))
    }

    /// A lever of this name for each of its subjects.
    fn trials(&self, at: Timestamp, lever: &str) -> Box<dyn Iterator<Item = Lever> + '_> {
        let until = Some(at + Duration::from_secs(1));
        let contact_endpoint = String::new();
        let one = |lever| Box::new(once(lever));
        match lever {
            "pause" => one(Lever::Pause),
            "resume" => one(Lever::Resume),
            "end" => one(Lever::End),
            "open_registration" => one(Lever::OpenRegistration { until }),
            "close_registration" => one(Lever::CloseRegistration),
            "set_capacity" => one(Lever::SetCapacity {
                players: self.players.seated().max(self.rules.least_players()),
                waiting: 0,
            }),
            "set_join_code" => one(Lever::SetJoinCode),
            "set_roster" => one(Lever::SetRoster { names: Vec::new() }),
            "admit_referee" => one(Lever::AdmitReferee { contact_endpoint }),
            "share_address" => one(Lever::ShareAddress { contact_endpoint }),
            "announce" => one(Lever::Announce { text: "-".into() }),
            _ => self.trials_of_agents(lever),
        }
    }

    fn trials_of_agents(&self, lever: &str) -> Box<dyn Iterator<Item = Lever> + '_> {
        let (kept, annulled) = (PlayedMatches::Kept, PlayedMatches::Annulled);
        let seconds = 1;
        let players = self.players.members.iter().map(|player| player.id.clone());
        match lever {
            "withdraw" => Box::new(players.map(|player_id| Lever::Withdraw { player_id })),
            "remove" => Box::new(players.map(|player_id| Lever::Remove { player_id })),
            "disqualify" => Box::new(players.flat_map(move |player_id: PlayerId| {
                [kept, annulled].map(|played| Lever::Disqualify {
                    player_id: player_id.clone(),
                    played,
                })
            })),
            "reinstate" => Box::new(players.map(|player_id| Lever::Reinstate { player_id })),
            "extend_player" => {
                Box::new(players.map(move |player_id| Lever::ExtendPlayer { player_id, seconds }))
            }
            "rename" => Box::new(self.named_agents().map(|(agent, name)| Lever::Rename {
                agent,
                name: name.to_owned(),
            })),
            "new_token" => Box::new(
                self.named_agents()
                    .map(|(agent, _)| Lever::NewToken { agent }),
            ),
            "readmit" => {
                let kept = self.registration.kept.values().map(|seat| &seat.agent);
                let agents = self.named_agents().map(|(agent, _)| agent);
                Box::new(
                    agents
                        .chain(kept.cloned())
                        .map(|agent| Lever::Readmit { agent }),
                )
            }
            _ => self.trials_of_matches(lever),
        }
    }

    fn trials_of_matches(&self, lever: &str) -> Box<dyn Iterator<Item = Lever> + '_> {
        let (winner, both_lose, seconds) = (None::<PlayerId>, false, 1);
        let matches = self.begun_matches();
        match lever {
            "annul" => Box::new(matches.map(|match_id| Lever::Annul { match_id })),
            "replay" => Box::new(matches.map(|match_id| Lever::Replay { match_id })),
            "rule" => Box::new(matches.map(move |match_id| Lever::Rule {
                match_id,
                winner: winner.clone(),
                both_lose,
            })),
            "extend_match" => {
                Box::new(matches.map(move |match_id| Lever::ExtendMatch { match_id, seconds }))
            }
            _ => Box::new(std::iter::empty()),
        }
    }

    /// The matches of the rounds that have begun, the latest round first; before the start the first
    /// match, for which every lever says that the league has not begun.
    fn begun_matches(&self) -> impl Iterator<Item = MatchId> + '_ {
        let first = (self.phase == Phase::Registering).then(|| MatchId::numbered(1, 1));
        let reached = self.round.as_ref().map_or(0, |round| round.number);
        let rounds = (1..=reached).rev();
        let places =
            rounds.flat_map(|round| (0..self.matches_in(round)).map(move |index| (round, index)));
        let begun = places.filter_map(|(round, index)| self.pairing(round, index));
        first
            .into_iter()
            .chain(begun.map(|pairing| pairing.match_id()))
    }

    fn named_agents(&self) -> impl Iterator<Item = (Agent, &str)> {
        let players = self.players.members.iter().map(|player| &player.member);
        let referees = self.referees().iter().map(|referee| &referee.member);
        let members = players.chain(referees);
        members.map(|member| (member.peer.agent.clone(), &*member.name))
    }
}

/// Whether a lever was refused because it is for another subject than this one.
const fn is_about_subject(refusal: &LeverRefusal) -> bool {
    matches!(
        refusal,
        LeverRefusal::NoAgent(_)
            | LeverRefusal::Out(_)
            | LeverRefusal::NotOut(_)
            | LeverRefusal::NoResult(_)
            | LeverRefusal::Annulled(_)
            | LeverRefusal::Replayed { .. }
            | LeverRefusal::NoClock(_)
    )
}

/// What a lever has no subject for.
fn no_subject(lever: &str) -> &'static str {
    match lever {
        "withdraw" | "remove" | "disqualify" | "extend_player" => "no player is in the league",
        "reinstate" => "no player is out of the league",
        "extend_match" => "no match is being played",
        "annul" => "no match counts",
        "replay" => "no match can be played again",
        "rule" => "no match has begun",
        _ => "there is no such agent",
    }
}
