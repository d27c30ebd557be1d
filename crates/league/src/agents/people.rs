//! Seats for people: a person joins on the page with the organiser's code, and a player of this
//! process takes part for them. To manager and referees it is a player like any other.
//!
//! Code, names and the hashes of the seats' secrets are kept, so that people go on after a restart.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use league_core::player::{MatchOutcome, MatchRecord, Player, PlayerPhase, PlayerRules};
use league_games::SeatPicture;
use league_mcp::Origin;
use league_protocol::id::{LeagueId, PlayerId};
use league_protocol::message::{StandingRow, is_name};
use league_protocol::token::{AuthToken, TokenHash};
use league_web::model::SeatOutcome;
use league_web::page::{SeatMove, SeatPage, SeatResult, SeatStage, SeatTurn, label};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::{Mutex as AsyncMutex, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::agents::actor::Handle;
use crate::agents::arena::PersonSeats;
use crate::agents::assemble::{Shared, StartError};
use crate::agents::identity::{Identity, Membership};
use crate::agents::manager::caller_limit::Bursts;
use crate::agents::player::{self, Chooser, PlayStyle};
use crate::agents::seat::{ExternalSeat, SeatNews, ShownTurn, WAIT_TIMEOUT};
use crate::http::local;
use crate::http::server::{Routes, serve};
use crate::http::tls::ServerTls;
use crate::http::transport::Listener;
use crate::storage::secrets::{self, SecretError};
use crate::storage::store::StoreError;

/// How often one address may try a code, at once and within a minute again: a class behind one
/// router gets in, and a code of [`CODE_LENGTH`] characters is not guessed.
const MAX_TRIES: u32 = 60;
/// The characters of a code: none is taken for another.
const CODE_CHARACTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE_LENGTH: usize = 8;
/// How long a person who joins waits for the manager's decision about the player.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(10);
/// Questions for news that wait at once for one seat: a few open pages of one person.
const MAX_WAITING: usize = 4;
/// The results that the page of a seat shows.
const SHOWN_RESULTS: usize = 20;

/// What the seats of a league have in common.
pub(crate) struct PeoplePlan {
    pub(crate) shared: Shared,
    /// The rules of each player but its name and its address.
    pub(crate) rules: PlayerRules,
    pub(crate) league: LeagueId,
    pub(crate) seats: PersonSeats,
    pub(crate) bind: IpAddr,
    pub(crate) tls: Option<ServerTls>,
    /// The host by which referees call the players.
    pub(crate) host: String,
}

/// The seats for people in a league.
pub(crate) struct People {
    plan: PeoplePlan,
    code: AuthToken,
    tries: Bursts<IpAddr>,
    /// Held while a person takes a seat.
    joining: AsyncMutex<()>,
    taken: Mutex<Vec<Arc<Person>>>,
}

/// A person at a seat.
pub(crate) struct Person {
    stored: StoredSeat,
    pub(crate) seat: Arc<ExternalSeat>,
    actor: Handle<Player>,
    identity: Arc<Identity>,
    /// Ends the server of the player.
    end: watch::Sender<bool>,
    /// Ends with the player.
    ended: AsyncMutex<Option<JoinHandle<Result<(), StoreError>>>>,
    /// When the page asked for news last.
    heard: Mutex<Instant>,
    /// Whether the page showed the end of the league.
    pub(crate) saw_end: watch::Sender<bool>,
    pub(crate) waiting: Semaphore,
}

/// The file of the seats.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PeopleFile {
    code: String,
    #[serde(default)]
    seats: Vec<StoredSeat>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredSeat {
    slot: PlayerId,
    name: String,
    secret: TokenHash,
}

/// Why a person does not get a seat.
#[derive(Debug, Error)]
pub(crate) enum NoSeat {
    #[error("the code is wrong; ask the organiser for it")]
    Code,
    #[error("too many tries; wait {} s, then try again", .0.as_secs().max(1))]
    Tries(Duration),
    #[error("the name is not usable; give 1 to 64 visible characters")]
    Name,
    #[error("all {0} seats are taken")]
    Full(usize),
    #[error("the league did not admit you: {0}")]
    Rejected(String),
    #[error("the league is ending")]
    Ending,
    #[error("could not open a port for the player of the seat: {0}")]
    Listen(#[from] io::Error),
    #[error(transparent)]
    Start(#[from] Box<StartError>),
    #[error(transparent)]
    Secret(#[from] SecretError),
}

impl People {
    /// Opens the seats, and seats the people of an earlier process again.
    ///
    /// # Errors
    ///
    /// The file of the seats cannot be read or written, or a player cannot start.
    pub(crate) async fn open(plan: PeoplePlan) -> Result<Arc<Self>, NoSeat> {
        let path = secrets::place(&plan.shared.root, &plan.league, FILE);
        let stored: Option<PeopleFile> = secrets::load(&path)?;
        let file = stored.unwrap_or_else(|| PeopleFile {
            code: make_code(plan.shared.chance.bytes()),
            seats: Vec::new(),
        });
        let people = Arc::new(Self {
            code: AuthToken::new(&file.code),
            plan,
            tries: Bursts::of(MAX_TRIES),
            joining: AsyncMutex::default(),
            taken: Mutex::default(),
        });
        for stored in file.seats {
            let number = people.taken().len();
            let person = people.start(stored, number).await?;
            people.taken().push(person);
        }
        people.save(None)?;
        Ok(people)
    }

    /// The code that people need.
    pub(crate) fn code(&self) -> &str {
        self.code.reveal()
    }

    pub(crate) fn league(&self) -> &LeagueId {
        &self.plan.league
    }

    /// Seats a person who shows the code; returns the secret of the seat. A seat is taken to the end
    /// even if the caller does not wait for it.
    ///
    /// # Errors
    ///
    /// The code is wrong, no seat is free, or the league does not take the player.
    pub(crate) async fn join(
        self: &Arc<Self>,
        name: &str,
        code: &str,
        origin: Origin,
    ) -> Result<AuthToken, NoSeat> {
        if let Origin::Network { from, .. } = origin {
            let tried = self.tries.take(local::address_prefix(from), Instant::now());
            tried.map_err(NoSeat::Tries)?;
        }
        // Hashes are compared, so that the time tells nothing of the code.
        if AuthToken::new(readable(code)).hash() != AuthToken::new(readable(self.code())).hash() {
            return Err(NoSeat::Code);
        }
        let name = name.trim().to_owned();
        if !is_name(&name) {
            return Err(NoSeat::Name);
        }
        let people = Arc::clone(self);
        let seating = tokio::spawn(async move { people.take_seat(name).await });
        seating.await.unwrap_or(Err(NoSeat::Ending))
    }

    async fn take_seat(&self, name: String) -> Result<AuthToken, NoSeat> {
        let _joining = self.joining.lock().await;
        let number = self.taken().len();
        if number >= self.plan.seats.count {
            return Err(NoSeat::Full(self.plan.seats.count));
        }
        let secret = AuthToken::mint("seat", &self.plan.shared.chance.bytes());
        let stored = StoredSeat {
            slot: slot(number + 1),
            name,
            secret: secret.hash(),
        };
        // Saved first: a player that the manager knows has a seat after a restart.
        self.save(Some(&stored))?;
        match self.admit(stored, number).await {
            Ok(person) => {
                self.taken().push(person);
                Ok(secret)
            }
            Err(refusal) => {
                self.save(None)?;
                Err(refusal)
            }
        }
    }

    /// Starts a player, and stops it again if the manager rejects it.
    async fn admit(&self, stored: StoredSeat, number: usize) -> Result<Arc<Person>, NoSeat> {
        let person = self.start(stored, number).await?;
        if let Some(reason) = person.rejection().await {
            person.stop().await;
            self.forget(&person.stored.slot);
            return Err(NoSeat::Rejected(reason));
        }
        Ok(person)
    }

    /// Waits until each person has seen the end of the league, or has left before.
    pub(crate) async fn all_saw_end(&self) {
        let taken = self.taken().clone();
        for person in taken.iter().filter(|person| !person.seat.is_left()) {
            // The sender lives as long as the person.
            let _ = person.saw_end.subscribe().wait_for(|saw| *saw).await;
        }
    }

    /// The person who shows this secret.
    pub(crate) fn find(&self, secret: &AuthToken) -> Option<Arc<Person>> {
        let shown = secret.hash();
        let taken = self.taken();
        let mut taken = taken.iter();
        taken.find(|person| person.stored.secret == shown).cloned()
    }

    async fn start(&self, stored: StoredSeat, number: usize) -> Result<Arc<Person>, NoSeat> {
        let plan = &self.plan;
        let seat = Arc::new(ExternalSeat::for_person(plan.seats.fallback));
        let address = SocketAddr::new(plan.bind, 0);
        let listener = Listener::bind(address, plan.tls.clone()).await?;
        let rules = PlayerRules {
            display_name: stored.name.clone(),
            endpoint: listener.url(&plan.host),
            wanted_id: plan
                .seats
                .first_id
                .map(|first| PlayerId::numbered(first.saturating_add(number as u32)).to_string()),
            ..plan.rules.clone()
        };
        let style = PlayStyle {
            chooser: Chooser::External(Arc::clone(&seat)),
            pace: Duration::ZERO,
            results: None,
        };
        let started = player::start(&plan.shared, &plan.league, &stored.slot, rules, style);
        let (agent, service) = started.map_err(Box::new)?;
        let routes = Routes::behind(plan.shared.gate.clone());
        routes.open("", service);
        let (end, ended) = watch::channel(false);
        tokio::spawn(serve(listener, routes, plan.shared.limits.clone(), ended));
        let person = Arc::new(Person {
            stored,
            seat,
            actor: agent.actor,
            identity: agent.identity,
            end,
            ended: AsyncMutex::new(Some(agent.ended)),
            heard: Mutex::new(Instant::now()),
            saw_end: watch::Sender::new(false),
            waiting: Semaphore::new(MAX_WAITING),
        });
        let changes = person.seat.changes();
        tokio::spawn(notice_absence(Arc::downgrade(&person), changes));
        Ok(person)
    }

    /// Removes the files of a player that was not admitted.
    fn forget(&self, slot: &PlayerId) {
        let shared = &self.plan.shared;
        let tokens = secrets::place(&shared.root, &self.plan.league, slot.as_str());
        // A file that stays does no harm: it holds nothing of the league.
        let _ = fs::remove_file(shared.root.player_journal(slot));
        let _ = fs::remove_file(tokens);
    }

    /// Saves the seats that are taken, and the one that a person is about to take.
    fn save(&self, next: Option<&StoredSeat>) -> Result<(), SecretError> {
        let taken = self.taken();
        let seats = taken.iter().map(|person| &person.stored).chain(next);
        let file = PeopleFile {
            code: self.code().to_owned(),
            seats: seats.cloned().collect(),
        };
        drop(taken);
        let path = secrets::place(&self.plan.shared.root, &self.plan.league, FILE);
        secrets::save(&path, &file)
    }

    /// Stops the players; their decisions are written.
    pub(crate) async fn close(&self) {
        let taken = std::mem::take(&mut *self.taken());
        for person in taken {
            person.stop().await;
        }
    }

    fn taken(&self) -> MutexGuard<'_, Vec<Arc<Person>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of the file of the seats.
const FILE: &str = "people";

impl Person {
    /// Why the manager rejects the player; `None` if it admits it, or has not decided in time: then
    /// the page of the seat tells how that goes on.
    async fn rejection(&self) -> Option<String> {
        let mut membership = self.identity.membership();
        let decided = membership.wait_for(|now| *now != Membership::Registering);
        match &*tokio::time::timeout(ADMISSION_TIMEOUT, decided)
            .await
            .ok()?
            .ok()?
        {
            Membership::Rejected(reason) => Some(reason.clone()),
            _ => None,
        }
    }

    async fn stop(&self) {
        self.end.send_replace(true);
        self.actor.stop().await;
        if let Some(ended) = self.ended.lock().await.take() {
            // A player whose journal could not be written has logged it.
            let _ = ended.await;
        }
    }

    /// Notes that the page of the person asks. A person who left takes the seat again by it.
    pub(crate) fn hear(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.seat.set_left(false);
    }

    fn is_silent(&self) -> bool {
        let heard = *self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.elapsed() > 2 * WAIT_TIMEOUT
    }

    /// The seat as its person sees it.
    pub(crate) fn page(&self) -> SeatPage {
        let news = self.seat.news();
        let results = news.results.iter().rev().take(SHOWN_RESULTS);
        let result = |record: &Arc<MatchRecord>| SeatResult {
            match_id: record.match_id.to_string(),
            opponent: news.name_of(&record.opponent_id),
            outcome: outcome(record),
        };
        let results = results.map(result).collect();
        let is_own = |row: &&StandingRow| Some(&row.player_id) == news.player_id.as_ref();
        let rank = news.standings.as_ref().and_then(|rows| {
            let own = rows.iter().find(is_own)?;
            Some((own.rank, own.points, rows.len()))
        });
        SeatPage {
            name: self.stored.name.clone(),
            player_id: news.player_id.as_ref().map(ToString::to_string),
            stage: self.stage(&news),
            last_move: self.last_move(&news),
            missed: news.missed.is_some(),
            fallback: self.seat.fallback.name,
            results,
            rank,
        }
    }

    fn last_move(&self, news: &SeatNews) -> Option<SeatMove> {
        let last = self.seat.last_move()?;
        let think = &last.think;
        let mut results = news.results.iter().rev();
        let ended = results.find(|record| record.match_id == think.match_id);
        Some(SeatMove {
            match_id: think.match_id.to_string(),
            opponent: news.name_of(&think.opponent_id),
            choice: last.choice.as_ref().map(label),
            drawn: last.position(news.player_id.as_ref()?, ended.map(|record| &**record)),
            outcome: ended.map(|record| outcome(record)),
        })
    }

    fn stage(&self, news: &SeatNews) -> SeatStage {
        match (news.phase, self.seat.turn()) {
            (Some(PlayerPhase::Completed), _) => SeatStage::Over,
            (Some(PlayerPhase::Rejected), _) => {
                SeatStage::Rejected(news.rejection.clone().unwrap_or_default())
            }
            (_, _) if self.seat.is_left() => SeatStage::Left,
            (_, Some(turn)) => SeatStage::Turn(Box::new(shown(&turn, news))),
            (Some(PlayerPhase::Enrolled), None) => SeatStage::Waiting,
            (_, None) => SeatStage::Registering,
        }
    }
}

const fn outcome(record: &MatchRecord) -> SeatOutcome {
    match record.result {
        MatchOutcome::Win => SeatOutcome::Won,
        MatchOutcome::Draw => SeatOutcome::Drew,
        MatchOutcome::Loss => SeatOutcome::Lost,
        MatchOutcome::TechnicalLoss => SeatOutcome::Forfeited,
    }
}

fn shown(turn: &ShownTurn, news: &SeatNews) -> SeatTurn {
    let think = &turn.think;
    let rules = league_games::find(think.game_type.as_str()).map(|listing| listing.rules);
    SeatTurn {
        match_id: think.match_id.to_string(),
        number: think.turn,
        opponent: news.name_of(&think.opponent_id),
        opponent_id: think.opponent_id.to_string(),
        answered: turn
            .answered(news.player_id.as_ref())
            .iter()
            .map(label)
            .collect(),
        drawn: SeatPicture::of(&think.view, &think.options),
        options: think.options.to_vec(),
        time_left: turn.time_left(),
        game: rules.map_or("the game", |rules| rules.display_name),
        rules: rules.map_or("", |rules| rules.rules_text),
    }
}

/// Lets the strategy move at once for a person who missed a turn and whose page is closed.
async fn notice_absence(person: Weak<Person>, mut changes: watch::Receiver<u64>) {
    let mut known = None;
    while changes.changed().await.is_ok() {
        let Some(person) = person.upgrade() else {
            return;
        };
        let missed = person.seat.news().missed;
        if missed.is_some() && missed != known && person.is_silent() && !person.seat.is_left() {
            let name = &person.stored.name;
            tracing::warn!(
                agent_id = %person.identity.log_name(),
                event_type = "PERSON_AWAY",
                "{name} is away, so the strategy `{}` makes the moves of {name} until the page is \
                 open again",
                person.seat.fallback.name
            );
            person.seat.set_left(true);
        }
        known = missed;
    }
}

fn slot(number: usize) -> PlayerId {
    PlayerId::new(format!("person-{number}")).unwrap_or_else(|_| PlayerId::numbered(1))
}

/// A code such as `K7QF-3MPX`.
fn make_code(chance: [u8; 32]) -> String {
    let character = |byte: &u8| char::from(CODE_CHARACTERS[usize::from(byte % 32)]);
    let characters: Vec<char> = chance.iter().take(CODE_LENGTH).map(character).collect();
    let (first, second) = characters.split_at(CODE_LENGTH / 2);
    format!("{}-{}", String::from_iter(first), String::from_iter(second))
}

/// A code as people type it: without case, spaces and signs.
fn readable(code: &str) -> String {
    let letters = code.chars().filter(char::is_ascii_alphanumeric);
    letters
        .map(|letter| letter.to_ascii_uppercase())
        .take(64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_read_as_people_type_it() {
        let code = make_code([7; 32]);
        assert_eq!(code, "HHHH-HHHH");
        for typed in ["hhhhhhhh", " HHHH HHHH ", "hhhh-hhhh"] {
            assert_eq!(readable(typed), readable(&code), "{typed}");
        }
        assert_ne!(readable("HHHH-HHHJ"), readable(&code));
    }
}
