//! Letters put into words, and answers understood: the wire of calls that we make.

mod failures;
mod kept;
mod logged;
mod reading;
mod silent;
mod tokens;
mod unadmitted;

use std::sync::Arc;

use league_core::letter::{CallOutcome, Credential, Letter, Peer, PeerAnswer};
use league_protocol::dialect::Hints;
use league_protocol::encode::{Stamp, conversation, encode, tool};
use league_protocol::id::{ConversationId, PlayerId};
use league_protocol::message::Message;
use league_protocol::peer::{self, PeerProfile, PeerRequest};
use league_protocol::sender::Agent;
use league_protocol::token::AuthToken;

use crate::agents::identity::Identity;
use crate::clock;
use crate::wire::deviations::Deviations;
use crate::wire::outbox::match_of;
use crate::wire::transcript::Transcripts;
pub(crate) use reading::owed_types;
pub(crate) use silent::PeerTroubles;
pub(crate) use tokens::WrongTokens;
pub(crate) use unadmitted::RegistrationTroubles;

/// Puts letters into words and understands what comes back.
pub(crate) struct Outbound {
    /// Who writes.
    pub(crate) identity: Arc<Identity>,
    /// What was forgiven whom.
    pub(crate) deviations: Deviations,
    /// What is said in matches, for those who keep a record of it.
    pub(crate) transcripts: Option<Transcripts>,
    /// The wrong tokens that answers have shown.
    pub(crate) wrong_tokens: WrongTokens,
    /// Why the writer was not admitted so far.
    pub(crate) unadmitted: RegistrationTroubles,
    /// Who could not be called so far.
    pub(crate) silent: PeerTroubles,
}

/// A letter in words.
#[derive(Debug)]
pub(crate) enum Written {
    /// What is sent.
    Request(PeerRequest),
    /// The receiver's dialect has no words for it, or the receiver does not want to know.
    Nothing,
    /// The receiver owes an answer and has no tool of this name.
    NoTool(&'static str),
}

/// What came of a letter, and whether the receiver did as it was thought to.
#[derive(Debug)]
pub(crate) struct Understood {
    /// What came of it.
    pub(crate) outcome: CallOutcome,
    /// Whether the receiver may take calls in another manner than it was thought to.
    pub(crate) doubtful: bool,
}

impl Outbound {
    /// Puts a letter into words for how its receiver takes calls.
    pub(crate) fn write<T>(&self, letter: &Letter<T>, id: u64, found: &PeerProfile) -> Written {
        if letter.message == Message::Ping {
            return peer::ping(found, id).map_or(Written::Nothing, Written::Request);
        }
        let own = tool(&letter.message);
        let offered = match &found.tools {
            Some(tools) => match tools.offered(own) {
                Some((name, inputs)) => (name, Some(inputs)),
                None if is_owed(&letter.message) => return Written::NoTool(own),
                None => return Written::Nothing,
            },
            None => (own, None),
        };
        let token = self.proof(letter);
        let request = self.spoken(letter, token.as_ref(), |outgoing| {
            peer::call(found, id, offered.0, outgoing, offered.1)
        });
        request.map_or(Written::Nothing, Written::Request)
    }

    fn proof<T>(&self, letter: &Letter<T>) -> Option<AuthToken> {
        match &letter.credential {
            // A referee that comes back brings its proof in the request itself.
            Credential::None => match &letter.message {
                Message::RefereeRegisterRequest(request)
                | Message::PlayerRegisterRequest(request) => request.token.clone(),
                _ => None,
            },
            Credential::Own => self.identity.token(),
            Credential::Return => self
                .identity
                .return_token()
                .or_else(|| self.identity.token()),
            Credential::Match(token) | Credential::Manager(token) => Some(token.clone()),
        }
    }

    fn spoken<T, Out>(
        &self,
        letter: &Letter<T>,
        token: Option<&AuthToken>,
        write: impl FnOnce(&league_protocol::encode::Outgoing<'_>) -> Option<Out>,
    ) -> Option<Out> {
        let agent = self.identity.agent();
        let conversation = self.conversation(letter);
        let stamp = Stamp {
            sender: self.identity.sender(agent.as_ref()),
            at: clock::now(),
            conversation: &conversation,
            token,
        };
        self.hinted(letter, |hints| {
            encode(&letter.message, letter.to.dialect, stamp, hints)
                .and_then(|outgoing| write(&outgoing))
        })
    }

    /// The conversation that a letter belongs to.
    fn conversation<T>(&self, letter: &Letter<T>) -> ConversationId {
        match letter.message {
            Message::PlayerRegisterRequest(_) => self.identity.own_registration(),
            ref message => conversation(message, &self.identity.names().label),
        }
    }

    /// Does something with what is known of a letter and its receiver.
    fn hinted<T, Out>(&self, letter: &Letter<T>, act: impl FnOnce(&Hints<'_>) -> Out) -> Out {
        let opponent = opponent(&letter.to, &letter.message);
        let (league, game) = (self.identity.meant(), self.identity.game());
        act(&Hints {
            league_id: league.as_ref(),
            game_type: game.as_ref(),
            reader: player(&letter.to),
            opponent: opponent.as_ref(),
            match_id: match_of(&letter.message),
            placeholders: false,
            synonyms: false,
        })
    }
}

fn player(peer: &Peer) -> Option<&PlayerId> {
    match &peer.agent {
        Agent::Player(id) => Some(id),
        Agent::Manager | Agent::Referee(_) => None,
    }
}

/// Who sits opposite the receiver, where the message says so.
fn opponent(peer: &Peer, message: &Message) -> Option<PlayerId> {
    match message {
        Message::GameInvitation(invitation) => Some(invitation.opponent_id.clone()),
        Message::MoveCall(call) => Some(call.opponent_id.clone()),
        Message::GameOver(over) => {
            let reader = player(peer)?;
            let both = over.result.players.iter();
            both.into_iter().find(|id| *id != reader).cloned()
        }
        _ => None,
    }
}

/// The answer of one who only nods.
pub(crate) fn nod() -> PeerAnswer {
    PeerAnswer {
        message: Message::Acknowledged,
        token: None,
    }
}

/// Whether a message is of no use without an answer.
pub(crate) const fn is_owed(message: &Message) -> bool {
    matches!(
        message,
        Message::RefereeRegisterRequest(_)
            | Message::PlayerRegisterRequest(_)
            | Message::StartMatch(_)
            | Message::GameInvitation(_)
            | Message::MoveCall(_)
            | Message::MatchResultReport(_)
            | Message::LeagueQuery(_)
    )
}
