//! Transcripts of matches, written into the referee's journal as they grow.
//!
//! A message that shows a choice, a share or a seed too early is written as a salted hash; the
//! message itself follows when the match is decided. A crash loses at most the messages since the
//! last write, and the content of those that were hashes. The original text of a repaired reply is
//! kept as well: bounded, and without tokens, passwords and keys. The text is dropped if it may
//! contain these in a form that is not detected, or if it came with an HTTP error, since an error
//! page may reveal anything that its program knows.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use league_protocol::id::MatchId;
use league_protocol::message::{MatchState, Message};
use league_protocol::peer::McpFault;
use league_protocol::redact::without_secrets;
use league_protocol::rpc::members::split;
use league_protocol::time::Timestamp;
use league_protocol::token::hex;
use serde_json::value::RawValue;

use super::canonical::canonical;
use crate::chance::Chance;
use crate::storage::documents::{MessageText, Seal, TranscriptMessage, Verbatim};
use crate::storage::record::{OpenedMessage, Transcript};

/// The most messages kept per match; further messages are dropped.
pub(crate) const MAX_TRANSCRIPT: usize = 512;
/// The largest message that is kept, in bytes; of a larger message only the type is kept.
pub(crate) const MAX_MESSAGE: usize = 16 * 1024;
/// How long a message that nothing hides may wait for an event of its match, to be written with it.
pub(crate) const MAX_UNWRITTEN: Duration = Duration::from_millis(200);

/// The transcripts of the matches in progress.
#[derive(Debug, Clone)]
pub(crate) struct Transcripts {
    open: Arc<Mutex<OpenTranscripts>>,
    /// Where salts come from: always the operating system, as nobody may compute them.
    chance: Chance,
}

#[derive(Debug, Default)]
struct OpenTranscripts {
    matches: BTreeMap<MatchId, MatchTranscript>,
    /// The matches with messages that are not written.
    changed: BTreeSet<MatchId>,
    /// When all of these are written at the latest.
    due: Option<Timestamp>,
}

/// The transcript of one match.
#[derive(Debug)]
struct MatchTranscript {
    attempt: u32,
    secrets: GameSecrets,
    is_decided: bool,
    /// The number of messages already written.
    written: usize,
    /// Whether the referee started again since the last message.
    is_resumed: bool,
    waiting: Vec<(Secrecy, TranscriptMessage)>,
    /// Whether an event of the match is about to be written, and the waiting messages with it.
    has_event: bool,
    /// Messages of which only the hash is written.
    sealed: Vec<OpenedMessage>,
}

/// What a game hides until the end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GameSecrets {
    pub(crate) moves: bool,
    /// What a seat sees, such as its cards.
    pub(crate) views: bool,
}

/// Until when a message must not be read in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrecy {
    Open,
    /// It shows what one seat sees: until the match is decided, if that is a secret of the game.
    View,
    /// It shows a move: until the match is decided, if the game hides moves.
    Move,
    /// Until the match is decided.
    Decided,
}

impl Secrecy {
    /// The secrecy of a message to a player or to the manager.
    pub(crate) fn of_sent(message: &Message) -> Self {
        match message {
            Message::GameInvitation(_) | Message::GameStart(_) => Self::Open,
            Message::MoveCall(_) => Self::View,
            // It may quote the answer of its player.
            Message::GameError(error) if error.state == MatchState::WaitingForPlayers => Self::Open,
            Message::GameError(_) | Message::PlayValidation(_) => Self::Move,
            _ => Self::Decided,
        }
    }

    /// The secrecy of the answer to a message.
    pub(crate) fn of_reply(asked: &Message) -> Self {
        match asked {
            Message::GameInvitation(_) | Message::GameStart(_) => Self::Open,
            Message::MoveCall(_) | Message::GameError(_) | Message::PlayValidation(_) => Self::Move,
            _ => Self::Decided,
        }
    }
}

impl MatchTranscript {
    fn hides(&self, secrecy: Secrecy) -> bool {
        let is_hidden = match secrecy {
            Secrecy::Open => false,
            Secrecy::View => self.secrets.views,
            Secrecy::Move => self.secrets.moves,
            Secrecy::Decided => true,
        };
        is_hidden && !self.is_decided
    }

    /// Whether its messages must be written with this step: an event goes with them, or a hash must
    /// be written before the draw. What belongs to the draw itself can wait.
    fn is_due(&self) -> bool {
        let hides =
            |(secrecy, _): &(Secrecy, _)| *secrecy != Secrecy::Decided && self.hides(*secrecy);
        self.has_event || self.waiting.iter().any(hides)
    }

    /// Takes the messages added since the last call, and those that need not be hashes any more.
    fn take(&mut self, match_id: &MatchId, chance: &Chance) -> Option<Transcript> {
        self.has_event = false;
        let mut messages = Vec::with_capacity(self.waiting.len());
        for (secrecy, said) in std::mem::take(&mut self.waiting) {
            let said = if self.hides(secrecy) {
                self.seal(said, &chance.bytes())
            } else {
                said
            };
            messages.push(said);
            self.written += 1;
        }
        let opened = if self.is_decided {
            std::mem::take(&mut self.sealed)
        } else {
            Vec::new()
        };
        (!messages.is_empty() || !opened.is_empty()).then(|| Transcript {
            match_id: match_id.clone(),
            attempt: self.attempt,
            messages,
            opened,
        })
    }

    /// Keeps the content of a message back, and leaves its hash.
    fn seal(&mut self, said: TranscriptMessage, salt: &[u8; 32]) -> TranscriptMessage {
        let TranscriptMessage {
            message, verbatim, ..
        } = said;
        let hash = Seal::hash_of(salt, &message, verbatim.as_ref());
        self.sealed.push(OpenedMessage {
            place: self.written,
            salt: hex(salt),
            message,
            verbatim,
        });
        TranscriptMessage {
            message: MessageText::default(),
            verbatim: None,
            seal: Some(Seal { hash, salt: None }),
            ..said
        }
    }
}

impl Transcripts {
    pub(crate) fn new(chance: Chance) -> Self {
        Self {
            open: Arc::default(),
            chance,
        }
    }

    /// Adds a message as it was decoded, and the original text if that differs. Secrets are removed.
    pub(crate) fn add(
        &self,
        match_id: &MatchId,
        (timestamp, secrecy): (Timestamp, Secrecy),
        (from, to): (String, String),
        message: Option<&RawValue>,
        verbatim: Option<Verbatim>,
    ) {
        let message_type = message.and_then(type_of).unwrap_or_default();
        let kept = message.and_then(canonical);
        let kept = kept.filter(|json| json.len() <= MAX_MESSAGE);
        let message = kept.map(MessageText::new).unwrap_or_default();
        let mut open = self.lock();
        let OpenTranscripts {
            matches, changed, ..
        } = &mut *open;
        // Messages of a match that is over or was never begun are dropped.
        if let Some(kept) = matches.get_mut(match_id)
            && kept.written + kept.waiting.len() < MAX_TRANSCRIPT
        {
            let said = TranscriptMessage {
                timestamp,
                from,
                to,
                message_type,
                message,
                verbatim,
                seal: None,
                resumed: std::mem::take(&mut kept.is_resumed),
            };
            kept.waiting.push((secrecy, said));
            changed.insert(match_id.clone());
        }
    }

    /// Begins the transcript of an attempt at a match.
    pub(crate) fn begin(&self, match_id: &MatchId, attempt: u32, secrets: GameSecrets) {
        let kept = MatchTranscript {
            attempt,
            secrets,
            is_decided: false,
            written: 0,
            is_resumed: false,
            waiting: Vec::new(),
            has_event: false,
            sealed: Vec::new(),
        };
        let mut open = self.lock();
        open.matches.insert(match_id.clone(), kept);
        open.changed.remove(match_id);
    }

    /// Counts messages that an earlier process wrote.
    pub(crate) fn count(&self, written: &Transcript) {
        if let Some(kept) = self.lock().matches.get_mut(&written.match_id) {
            kept.written += written.messages.len();
        }
    }

    /// Marks the next message of each match as the first one of a new process.
    pub(crate) fn resume(&self) {
        for kept in self.lock().matches.values_mut() {
            kept.is_resumed = true;
        }
    }

    /// Nothing about the match is hidden any more.
    pub(crate) fn decide(&self, match_id: &MatchId) {
        if let Some(kept) = self.lock().matches.get_mut(match_id) {
            kept.is_decided = true;
        }
    }

    pub(crate) fn forget(&self, match_id: &MatchId) {
        let mut open = self.lock();
        open.matches.remove(match_id);
        open.changed.remove(match_id);
    }

    /// Takes the messages of a match that are not written, if there are any.
    pub(crate) fn take(&self, match_id: &MatchId) -> Option<Transcript> {
        let mut open = self.lock();
        open.changed.remove(match_id);
        open.matches.get_mut(match_id)?.take(match_id, &self.chance)
    }

    /// An event of the match is written, and its messages with it.
    pub(crate) fn hurry(&self, match_id: &MatchId) {
        let mut open = self.lock();
        if open.changed.contains(match_id)
            && let Some(kept) = open.matches.get_mut(match_id)
        {
            kept.has_event = true;
        }
    }

    /// Takes the messages that must be written now; all others wait at most [`MAX_UNWRITTEN`].
    pub(crate) fn take_due(&self, now: Timestamp) -> Vec<Transcript> {
        let mut open = self.lock();
        let OpenTranscripts {
            matches,
            changed,
            due,
        } = &mut *open;
        let all = due.is_some_and(|due| due <= now);
        let mut taken = Vec::new();
        changed.retain(|match_id| {
            let Some(kept) = matches.get_mut(match_id) else {
                return false;
            };
            let waits = !all && !kept.is_due();
            if !waits {
                taken.extend(kept.take(match_id, &self.chance));
            }
            waits
        });
        let waits = due.unwrap_or(now + MAX_UNWRITTEN);
        *due = (!changed.is_empty()).then_some(waits);
        taken
    }

    /// When messages are due that nothing was written with.
    pub(crate) fn wakeup(&self) -> Option<Timestamp> {
        self.lock().due
    }

    fn lock(&self) -> MutexGuard<'_, OpenTranscripts> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The type that a message names.
fn type_of(message: &RawValue) -> Option<String> {
    let members = split(message.get()).ok()?;
    let name: String = serde_json::from_str(members.get("message_type")?.get()).ok()?;
    Some(name.chars().take(64).collect())
}

/// The most bytes kept of an original text.
pub(crate) const MAX_VERBATIM: usize = 4 * 1024;
/// The most bytes of it that are searched for secrets.
const MAX_SEARCHED: usize = 64 * 1024;
/// Replaces removed text.
const TAKEN_OUT: &str = "…";

/// Keeps an original reply with its HTTP status and the reason why it could not be decoded.
pub(crate) fn verbatim(said: &[u8], status: u16, problem: Option<&str>) -> Verbatim {
    if status >= 400 && !said.is_empty() {
        let broken = McpFault::Status(status);
        return Verbatim {
            text: None,
            bytes: said.len() as u64,
            cut: false,
            problem: problem.map(|_| broken.to_string()),
        };
    }
    let looked_at = &said[..said.len().min(MAX_SEARCHED)];
    let text = String::from_utf8_lossy(looked_at);
    let whole = looked_at.len() == said.len();
    let text = if whole {
        plain_text(&text)
    } else {
        plain_text(without_last_word(&text))
    };
    let end = text.as_deref().map(end_of);
    Verbatim {
        cut: !whole || text.as_ref().map(String::len) > end,
        text: text.zip(end).map(|(text, end)| text[..end].to_owned()),
        bytes: said.len() as u64,
        problem: problem.map(|problem| {
            let plain = plain_text(problem);
            plain.unwrap_or_else(|| TAKEN_OUT.to_owned())
        }),
    }
}

fn end_of(text: &str) -> usize {
    let ends = text
        .char_indices()
        .map(|(start, letter)| start + letter.len_utf8());
    ends.take_while(|end| *end <= MAX_VERBATIM)
        .last()
        .unwrap_or(0)
}

/// Drops the last word, which may be cut off.
fn without_last_word(text: &str) -> &str {
    text.trim_end_matches(is_part)
}

const fn is_part(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_')
}

/// The text without tokens; `None` if tokens may remain.
fn plain_text(text: &str) -> Option<String> {
    if text.contains('\0') {
        return None;
    }
    let plain = unescaped(text);
    if plain != text && without_secrets(&plain)? != plain {
        return None;
    }
    without_secrets(text).map(Cow::into_owned)
}

/// HTML entities for quotes.
const QUOTES: [(&str, &str); 6] = [
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#x22;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&apos;", "'"),
];

/// The text with HTML quote entities and `\u` escapes of ASCII characters resolved.
fn unescaped(text: &str) -> String {
    let named = QUOTES.iter().filter(|(name, _)| text.contains(name));
    let plain = named.fold(Cow::Borrowed(text), |text, (name, quote)| {
        Cow::Owned(text.replace(name, quote))
    });
    let mut parts = plain.split("\\u");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number = part
            .get(..4)
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match number.and_then(char::from_u32).filter(char::is_ascii) {
            Some(letter) => {
                plain.push(letter);
                plain.push_str(&part[4..]);
            }
            None => {
                plain.push_str("\\u");
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use league_protocol::token::AuthToken;
    use serde_json::value::to_raw_value;
    use serde_json::{Value, json};

    /// A transcript of a game that hides moves, and its match.
    fn begun() -> (Transcripts, MatchId) {
        let transcripts = Transcripts::new(Chance::new(None).unwrap());
        let id = MatchId::new("R1M1").unwrap();
        let (moves, views) = (true, true);
        transcripts.begin(&id, 1, GameSecrets { moves, views });
        (transcripts, id)
    }

    fn add(transcripts: &Transcripts, id: &MatchId, secrecy: Secrecy, message: Value) {
        let between = ("referee:REF01".to_owned(), "player:P01".to_owned());
        let at = (Timestamp::default(), secrecy);
        let message = to_raw_value(&message).unwrap();
        transcripts.add(id, at, between, Some(&message), None);
    }

    #[test]
    fn hidden_message_is_a_hash_until_the_match_is_decided() {
        let (transcripts, id) = begun();
        let choice = json!({"message_type": "CHOOSE_PARITY_RESPONSE", "choice": "even"});
        add(
            &transcripts,
            &id,
            Secrecy::Open,
            json!({"message_type": "GAME_JOIN_ACK"}),
        );
        add(&transcripts, &id, Secrecy::Move, choice.clone());
        let early = transcripts.take_due(Timestamp::default()).pop().unwrap();
        assert_eq!(
            early.messages[0].message.value()["message_type"],
            "GAME_JOIN_ACK"
        );
        let sealed = &early.messages[1];
        assert_eq!(sealed.message_type, "CHOOSE_PARITY_RESPONSE");
        assert!(!format!("{early:?}").contains("even"));
        assert!(sealed.is_lost() && early.opened.is_empty());
        assert!(transcripts.take_due(Timestamp::default()).is_empty());
        transcripts.decide(&id);
        add(
            &transcripts,
            &id,
            Secrecy::Decided,
            json!({"message_type": "MATCH_RESULT_REPORT"}),
        );
        let late = transcripts.take(&id).unwrap();
        assert_eq!(late.messages[0].seal, None);
        let [opened] = &late.opened[..] else {
            panic!("{late:?}")
        };
        assert_eq!((opened.place, opened.message.value()), (1, choice.clone()));
        let salt = Some(opened.salt.clone());
        let seal = Seal {
            salt,
            ..sealed.seal.clone().unwrap()
        };
        assert_eq!(seal.is_of(&(&choice).into(), None), Some(true));
        assert_eq!(
            seal.is_of(&(&json!({"choice": "odd"})).into(), None),
            Some(false)
        );
    }

    #[test]
    fn open_message_waits_for_an_event_of_its_match_and_not_for_long() {
        let (transcripts, id) = begun();
        let at = Timestamp::from_millis;
        let waited = i64::try_from(MAX_UNWRITTEN.as_millis()).unwrap();
        let taken = |now| transcripts.take_due(now).len();
        add(&transcripts, &id, Secrecy::Open, json!({}));
        assert_eq!((taken(at(0)), transcripts.wakeup()), (0, Some(at(waited))));
        assert_eq!((taken(at(waited - 1)), taken(at(waited))), (0, 1));
        assert_eq!(transcripts.wakeup(), None);
        add(&transcripts, &id, Secrecy::Open, json!({}));
        assert_eq!(taken(at(waited)), 0);
        transcripts.hurry(&id);
        assert_eq!(taken(at(waited)), 1);
        transcripts.hurry(&id);
        add(&transcripts, &id, Secrecy::Open, json!({}));
        assert_eq!(taken(at(waited)), 0, "the event was written before");
    }

    #[test]
    fn request_for_a_move_is_a_hash_if_its_view_is_private() {
        let (transcripts, id) = begun();
        let cards = json!({"message_type": "GAME_MOVE_CALL", "your_card": "king"});
        add(&transcripts, &id, Secrecy::View, cards.clone());
        let early = transcripts.take(&id).unwrap();
        assert!(!format!("{early:?}").contains("king"));
        let (moves, views) = (true, false);
        transcripts.begin(&id, 2, GameSecrets { moves, views });
        add(&transcripts, &id, Secrecy::View, cards.clone());
        assert_eq!(
            transcripts.take(&id).unwrap().messages[0].message.value(),
            cards
        );
    }

    #[test]
    fn same_choice_has_another_hash_each_time() {
        let hashes = [0, 1].map(|_| {
            let (transcripts, id) = begun();
            add(&transcripts, &id, Secrecy::Move, json!({"choice": "even"}));
            transcripts.take(&id).unwrap().messages[0].seal.clone()
        });
        assert_ne!(hashes[0], hashes[1]);
    }

    #[test]
    fn game_with_open_moves_hides_no_move_but_what_the_draw_needs() {
        let (transcripts, id) = begun();
        let (moves, views) = (false, false);
        transcripts.begin(&id, 2, GameSecrets { moves, views });
        add(&transcripts, &id, Secrecy::Move, json!({"choice": 4}));
        add(
            &transcripts,
            &id,
            Secrecy::Decided,
            json!({"draw_seed": "ab"}),
        );
        let taken = transcripts.take(&id).unwrap();
        assert_eq!(taken.attempt, 2);
        let hidden = taken.messages.iter().map(|said| said.seal.is_some());
        assert_eq!(hidden.collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn first_message_of_a_new_process_is_marked_and_places_go_on() {
        let (transcripts, id) = begun();
        add(&transcripts, &id, Secrecy::Open, json!({}));
        let written = transcripts.take(&id).unwrap();
        let (transcripts, id) = begun();
        transcripts.count(&written);
        transcripts.resume();
        for secrecy in [Secrecy::Open, Secrecy::Move] {
            add(&transcripts, &id, secrecy, json!({}));
        }
        let taken = transcripts.take(&id).unwrap();
        let marks: Vec<bool> = taken.messages.iter().map(|said| said.resumed).collect();
        assert_eq!(marks, [true, false]);
        transcripts.decide(&id);
        assert_eq!(transcripts.take(&id).unwrap().opened[0].place, 2);
    }

    #[test]
    fn tokens_are_taken_out_wherever_they_stand() {
        let (transcripts, id) = begun();
        let message = json!({
            "message_type": "GAME_ERROR",
            "auth_token": "tok-secret",
            "context": [{"provided_token": "tok-secret", "left": 1}],
            "note": "mine is tok-p01-0123456789abcdef",
        });
        add(&transcripts, &id, Secrecy::Open, message);
        let taken = transcripts.take(&id).unwrap();
        let expected = json!({
            "message_type": "GAME_ERROR", "context": [{"left": 1}], "note": "mine is tok-p01-…",
        });
        assert_eq!(taken.messages[0].message.value(), expected);
        assert!(transcripts.take(&id).is_none());
    }

    #[test]
    fn nothing_of_a_valid_message_is_a_token_but_the_draw_can_be_read() {
        let (transcripts, id) = begun();
        let digits = "0123456789abcdef".repeat(4);
        let message = json!({
            "message_type": "GAME_OVER",
            "note": digits,
            "more": format!("TOK-P01-{digits}"),
            "why": "refused with x-api-key: s3cr3t",
            digits.clone(): 1,
            "X-Api-Key": "s3cr3t",
            "draw": {"commitment": digits, "seed": digits, "nonces": [digits, "tok-p01-s3cr3t"]},
            "draw_commitment": digits,
            "nonce": digits,
        });
        add(&transcripts, &id, Secrecy::Open, message);
        let taken = transcripts.take(&id).unwrap();
        let expected = json!({
            "message_type": "GAME_OVER",
            "note": "…",
            "more": "…",
            "why": "refused with x-api-key: …",
            "draw": {"commitment": digits, "seed": digits, "nonces": [digits, "tok-p01-…"]},
            "draw_commitment": digits,
            "nonce": digits,
        });
        assert_eq!(taken.messages[0].message.value(), expected);
    }

    #[test]
    fn what_is_given_out_counts_towards_the_longest_transcript() {
        let (transcripts, id) = begun();
        let mut given = 0;
        for _ in 0..3 {
            for _ in 0..MAX_TRANSCRIPT / 2 {
                add(&transcripts, &id, Secrecy::Open, json!({}));
            }
            let taken = transcripts.take(&id);
            given += taken.map_or(0, |taken| taken.messages.len());
        }
        assert_eq!(given, MAX_TRANSCRIPT);
    }

    const SECRET: &str = "abababab";

    fn kept(said: &str) -> Verbatim {
        verbatim(said.as_bytes(), 200, None)
    }

    #[test]
    fn why_it_was_not_read_holds_no_token_either() {
        let token = AuthToken::mint("P01", &[0xab; 32]);
        for (words, kept) in [
            ("bad auth_token: s3cr3t".to_owned(), "bad auth_token: …"),
            (format!("wrong: {}", "ab".repeat(32)), "wrong: …"),
            (
                format!("`{}` is none", token.reveal()),
                "`tok-p01-…` is none",
            ),
            ("secret: {\"s3cr3t\": 1}".to_owned(), "…"),
            ("it is no JSON".to_owned(), "it is no JSON"),
        ] {
            let problem = verbatim(b"{}", 200, Some(&words)).problem;
            assert_eq!(problem.as_deref(), Some(kept), "{words}");
        }
    }

    #[test]
    fn what_holds_no_token_is_kept_as_it_was_said() {
        for said in [
            "even",
            "{\"choice\" : \"even\", \"n\":1.50}",
            "<html>\n500 — oops</html>",
            r#"{"nonce":"0123456789abcdef0123456789abcdef","token":"#,
            "{\"caf\\u00e9\":1}",
            "",
        ] {
            let kept = kept(said);
            assert_eq!(kept.text.as_deref(), Some(said));
            assert!(!kept.cut);
            assert_eq!(kept.bytes, said.len() as u64);
        }
    }

    #[test]
    fn no_token_is_kept_however_it_is_written() {
        let token = AuthToken::mint("P01", &[0xab; 32]);
        let (token, digits) = (token.reveal(), "ab".repeat(32));
        let by_number = token.replace('-', "\\u002d");
        for said in [
            token.to_owned(),
            token.to_uppercase(),
            token.replace('-', "_"),
            digits.clone(),
            format!("my token is {digits}."),
            format!(r#"{{"auth_token":"{token}","choice":"even"}}"#),
            format!(r#"{{"auth_token" : "{SECRET}"}}"#),
            format!(r#"{{"Authorization":"Bearer {SECRET} {SECRET}"}}"#),
            format!(r#"{{"result":"{{\"auth_token\":\"{SECRET}\"}}"}}"#),
            format!(r#"{{"auth_token":{{"value":"{SECRET}"}}}}"#),
            format!("token={SECRET}&choice=even"),
            format!(r#"{{"x":"{by_number}"}}"#),
            format!(r#"{{"auth\u005ftoken":"{SECRET}"}}"#),
            format!(r#"{{"auth_\u0074oken":"{SECRET}"}}"#),
            token.chars().flat_map(|letter| [letter, '\0']).collect(),
            format!("{}{token}", "x ".repeat(MAX_VERBATIM / 2 - 10)),
            format!("{}{token}", "x ".repeat(MAX_SEARCHED / 2 - 10)),
        ] {
            let kept = kept(&said);
            let text = kept.text.unwrap_or_default();
            let lower = text.to_ascii_lowercase().replace('\0', "");
            assert!(!lower.contains(SECRET), "{said}: {text}");
            assert!(text.len() <= MAX_VERBATIM);
        }
    }

    #[test]
    fn no_key_of_a_player_is_kept_by_whatever_name_it_goes() {
        for said in [
            "x-api-key: s3cr3t",
            "api-key: s3cr3t",
            "the API key = s3cr3t",
            "Cookie: session=s3cr3t; theme=dark",
            "Set-Cookie: a=b; id=s3cr3t",
            "PRIVATE-KEY: s3cr3t",
            "db credentials: s3cr3t",
            "<auth_token>s3cr3t</auth_token>",
            "<tr><td>OPENAI_API_KEY</td><td class=\"v\">s3cr3t</td></tr>",
            r#"<input name="password" value="s3cr3t">"#,
            r#"{"auth_token":"abc,s3cr3t"}"#,
            r#"{"password":"it's s3cr3t"}"#,
            r#"{"password":"a \" s3cr3t"}"#,
            r#"{"body":"{\"password\":\"it's \\\" s3cr3t\"}"}"#,
            "{'password': 'say \"s3cr3t\"'}",
            "password=it's s3cr3t",
            "ANTHROPIC_KEY=s3cr3t",
            r#"{"openaiKey":"s3cr3t"}"#,
            "[(b'host', b'x'), (b'x-api-key', b's3cr3t, s3cr3t')]",
            r#"[["Authorization", "s3cr3t"]]"#,
            "{b'token': b'a, s3cr3t'}",
            "postgres://league:s3cr3t@localhost/matches",
            "<pre>{&quot;password&quot;: &quot;s3cr3t&quot;}</pre>",
            "{&#39;api_key&#39;: &#39;s3cr3t&#39;}",
            "-----BEGIN PRIVATE KEY-----\ns3cr3t\n-----END PRIVATE KEY-----",
        ] {
            let text = kept(said).text.unwrap_or_default();
            assert!(!text.contains("s3cr3t"), "{said}: {text}");
        }
    }

    #[test]
    fn no_key_of_a_well_known_form_is_kept() {
        let half = ["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxIn0", "c2lnbmF0dXJl"];
        for key in [
            "sk-ant-api03-A1b2C3d4E5",
            "sk-proj-A1b2C3d4E5f6",
            "ghp_A1b2C3d4E5f6G7h8",
            "github_pat_A1b2C3d4E5",
            "AKIAA1B2C3D4E5F6G7H8",
            "xoxb-1234567890-abcdef",
            "AIzaSyA1b2C3d4E5f6G7",
            &half.join("."),
        ] {
            let text = kept(&format!("cannot log in with {key}.")).text.unwrap();
            assert_eq!(text.trim_end_matches('.'), "cannot log in with …");
        }
        let text = kept("it was sent as Bearer s3cr3t-s3cr3t").text.unwrap();
        assert_eq!(text, "it was sent as Bearer …");
    }

    #[test]
    fn an_error_page_is_not_kept_and_its_status_is_told() {
        let page = b"<h1>KeyError</h1> environ: OPENAI=s3cr3t";
        let kept = verbatim(page, 500, Some("the agent complains: KeyError s3cr3t"));
        assert_eq!(kept.text, None);
        assert_eq!(kept.bytes, page.len() as u64);
        let told = kept.problem.unwrap();
        assert_eq!(told, "the agent answered with the HTTP status 500");
        let read = verbatim(page, 404, None);
        assert_eq!((read.text, read.problem), (None, None));
    }

    #[test]
    fn what_stands_beside_a_token_is_kept() {
        let said = format!(r#"{{"auth_token":"{SECRET}","choice":"even"}}"#);
        let text = kept(&said).text.unwrap();
        assert_eq!(text, r#"{"auth_token":"…","choice":"even"}"#);
        for said in [
            r#"{"auth_token": null, "choice": "even"}"#,
            r#"{"auth_token": "", "choice": "even"}"#,
            "the token is missing",
            "a task-based sk-model",
            r#"{"missing":"auth_token","choice":"even"}"#,
            "call http://localhost:8101/mcp, or mail@example.org",
        ] {
            assert_eq!(kept(said).text.as_deref(), Some(said));
        }
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let said = "é".repeat(MAX_VERBATIM);
        let kept = kept(&said);
        assert_eq!(kept.text.unwrap().len(), MAX_VERBATIM);
        assert!(kept.cut);
        assert_eq!(kept.bytes, said.len() as u64);
    }

    #[test]
    fn what_is_no_text_is_shown_as_far_as_it_is_one() {
        let kept = verbatim(b"\xff\xfeeven", 200, Some("it is no JSON"));
        assert_eq!(kept.text.as_deref(), Some("\u{fffd}\u{fffd}even"));
        assert_eq!(kept.problem.as_deref(), Some("it is no JSON"));
    }
}
