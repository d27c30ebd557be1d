//! What a manager shows to anybody who reads: the table, the schedule, the rules.

use league_protocol::message::{LeagueQuery, Query, QueryAnswer};
use serde_json::{Value, json};

use super::Manager;
use crate::wire::resources::{CONFIG, SCHEDULE, STANDINGS};

impl Manager {
    /// What lies at an address, as it is now.
    pub(super) async fn shown(&self, uri: &str) -> Option<Value> {
        match uri {
            uri if uri == STANDINGS.0 => self.told(Query::Standings).await,
            uri if uri == SCHEDULE.0 => self.told(Query::Schedule).await,
            uri if uri == CONFIG.0 => {
                let rules = self
                    .desk
                    .look(|league| serde_json::to_value(league.rules()));
                rules.await.ok()?.ok()
            }
            _ => None,
        }
    }

    /// The answer to a question that anybody may ask, without an envelope.
    async fn told(&self, query: Query) -> Option<Value> {
        let query = LeagueQuery {
            league_id: None,
            query,
            by_api_page: false,
        };
        let informed = self.desk.look(move |league| league.inform(&query)).await;
        Some(match informed.ok()?.answer {
            Ok(QueryAnswer::Standings { round_id, rows }) => {
                json!({"round_id": round_id, "standings": rows})
            }
            Ok(QueryAnswer::Schedule {
                total_rounds,
                rounds,
            }) => json!({"total_rounds": total_rounds, "rounds": rounds}),
            Ok(QueryAnswer::NextMatch(_) | QueryAnswer::PlayerStats(_)) => return None,
            Err(problem) => json!({"problem": problem}),
        })
    }
}
