//! Reads an order to run a match by its content: managers of others name it `assign_match`,
//! `START_GAME`, `MATCH_COMMAND` and otherwise, and no document shows one.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::dialect::Hints;
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::lenient::repair::fold;
use crate::message::{AnnouncedMatch, RoundAnnouncement, Rows};

/// How deep the match may be wrapped.
const MAX_WRAPPING: u32 = 3;

/// The seats by the ends of their names.
const SEATS: [[&str; 2]; 3] = [["a", "b"], ["1", "2"], ["one", "two"]];

/// The match that a call orders, as an announcement of it alone; `None` unless the call names one
/// match, both players and where they answer.
pub fn order(said: &str, hints: &Hints<'_>) -> Option<RoundAnnouncement> {
    let said: Value = serde_json::from_str(said).ok()?;
    find(&said, hints, MAX_WRAPPING)
}

fn find(said: &Value, hints: &Hints<'_>, depth: u32) -> Option<RoundAnnouncement> {
    let members = Folded::of(said.as_object()?);
    members.announced(hints).or_else(|| {
        let inner = members.0.iter().filter(|_| depth > 0);
        inner
            .filter(|(_, value)| value.is_object())
            .find_map(|(_, value)| find(value, hints, depth - 1))
    })
}

/// The members of an object, by their names without case and punctuation.
struct Folded<'v>(Vec<(String, &'v Value)>);

impl<'v> Folded<'v> {
    fn of(members: &'v Map<String, Value>) -> Self {
        let folded = members.iter().map(|(name, value)| (fold(name), value));
        Self(folded.collect())
    }

    fn get(&self, name: &str) -> Option<&'v Value> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| *value)
    }

    /// The first of these names that has a text or a number.
    fn text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| match self.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    }

    fn announced(&self, hints: &Hints<'_>) -> Option<RoundAnnouncement> {
        let match_id = self.text(&["matchid", "gameid", "fixtureid", "id"])?;
        let [(player_a, endpoint_a), (player_b, endpoint_b)] = self.players()?;
        let league = self.text(&["leagueid", "league"]);
        let league = league.and_then(|league| LeagueId::new(league).ok());
        let game = self.text(&["gametype", "game"]);
        let game = game.and_then(|game| GameType::new(game).ok());
        let round = self.text(&["roundid", "round", "roundnumber"]);
        let digits = |round: String| {
            round
                .trim_start_matches(|c: char| !c.is_ascii_digit())
                .parse()
        };
        Some(RoundAnnouncement {
            league_id: hints.league(league.as_ref()),
            round_id: round.and_then(|round| digits(round).ok()).unwrap_or(1),
            matches: Rows::from([AnnouncedMatch {
                match_id: MatchId::new(match_id).ok()?,
                game_type: hints.game(game.as_ref()),
                player_a,
                player_b,
                referee_endpoint: "".into(),
                endpoint_a: Some(endpoint_a),
                endpoint_b: Some(endpoint_b),
                commitment: None,
            }]),
            own: None,
        })
    }

    fn players(&self) -> Option<[(PlayerId, Arc<str>); 2]> {
        let seats = SEATS.iter();
        let mut by_seat = seats.filter_map(|seats| {
            let [a, b] = seats.map(|seat| self.seated(seat));
            Some([a?, b?])
        });
        by_seat.next().or_else(|| self.listed())
    }

    /// The player at a seat: `player_A` with its own members, or `player_A_id` and its endpoint.
    fn seated(&self, seat: &str) -> Option<(PlayerId, Arc<str>)> {
        let named = |what: &str| format!("player{seat}{what}");
        if let Some(Value::Object(player)) = self.get(&named("")) {
            return Folded::of(player).player();
        }
        let id = self.text(&[&named("id"), &named("")])?;
        let own = ["endpoint", "contactendpoint", "url", "address"].map(named);
        let endpoint = self.text(&own.each_ref().map(String::as_str));
        let endpoint = endpoint.or_else(|| self.endpoint_of(&id))?;
        pair(&id, &endpoint)
    }

    /// The players as a list, or as an object of their ids.
    fn listed(&self) -> Option<[(PlayerId, Arc<str>); 2]> {
        let names = ["players", "participants", "contestants"];
        let players = names.iter().find_map(|name| self.get(name))?;
        let found: Vec<_> = match players {
            Value::Array(listed) => listed
                .iter()
                .filter_map(|player| match player {
                    Value::Object(player) => Folded::of(player).player(),
                    Value::String(id) => pair(id, &self.endpoint_of(id)?),
                    _ => None,
                })
                .collect(),
            Value::Object(by_id) => by_id
                .iter()
                .filter_map(|(id, player)| match player {
                    Value::String(endpoint) => pair(id, endpoint),
                    Value::Object(player) => pair(id, &Folded::of(player).endpoint()?),
                    _ => None,
                })
                .collect(),
            _ => return None,
        };
        found.try_into().ok()
    }

    fn player(&self) -> Option<(PlayerId, Arc<str>)> {
        pair(
            &self.text(&["playerid", "id", "agentid"])?,
            &self.endpoint()?,
        )
    }

    fn endpoint(&self) -> Option<String> {
        self.text(&[
            "endpoint",
            "contactendpoint",
            "playerendpoint",
            "url",
            "address",
        ])
    }

    /// Where a player answers by an object of endpoints beside the players.
    fn endpoint_of(&self, id: &str) -> Option<String> {
        let names = ["playerendpoints", "endpoints", "contactendpoints"];
        let endpoints = names.iter().find_map(|name| self.get(name))?;
        Some(endpoints.get(id)?.as_str()?.to_owned())
    }
}

fn pair(id: &str, endpoint: &str) -> Option<(PlayerId, Arc<str>)> {
    let is_address = endpoint.starts_with("http://") || endpoint.starts_with("https://");
    is_address.then(|| Some((PlayerId::new(id).ok()?, Arc::from(endpoint))))?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn orders_are_read_by_their_content() {
        let [a, b] = ["http://localhost:8101/mcp", "http://localhost:8102/mcp"];
        for said in [
            json!({"match_id": "R1M1", "player_A_id": "P01", "player_B_id": "P02",
                "player_A_endpoint": a, "player_B_endpoint": b}),
            json!({"message_type": "MATCH_ASSIGNMENT", "match": {"id": "R1M1",
                "players": [{"player_id": "P01", "endpoint": a}, {"id": "P02", "url": b}]}}),
            json!({"matchId": "R1M1", "player1": {"playerId": "P01", "contact_endpoint": a},
                "player2": {"playerId": "P02", "contact_endpoint": b}}),
            json!({"command": "start", "data": {"game_id": "R1M1", "players": {"P01": a, "P02": b}}}),
            json!({"match_id": "R1M1", "players": ["P01", "P02"],
                "player_endpoints": {"P01": a, "P02": b}}),
        ] {
            let order = order(&said.to_string(), &Hints::default()).unwrap();
            let row = order.matches.iter().next().unwrap();
            assert_eq!(row.match_id.as_str(), "R1M1", "{said}");
            assert_eq!(
                [row.player_a.as_str(), row.player_b.as_str()],
                ["P01", "P02"]
            );
            assert_eq!(row.endpoint_a.as_deref(), Some(a), "{said}");
            assert_eq!(row.endpoint_b.as_deref(), Some(b), "{said}");
        }
    }

    #[test]
    fn calls_without_both_endpoints_are_no_orders() {
        for said in [
            json!({"match_id": "R1M1", "player_A_id": "P01", "player_B_id": "P02"}),
            json!({"match_id": "R1M1", "players": [{"id": "P01", "url": "http://h:1/mcp"}]}),
            json!({"match_id": "R1M1", "players": {"P01": "file:///etc", "P02": "http://h:1/mcp"}}),
            json!({"players": {"P01": "http://h:1/mcp", "P02": "http://h:2/mcp"}}),
            json!([]),
        ] {
            assert_eq!(order(&said.to_string(), &Hints::default()), None, "{said}");
        }
    }
}
