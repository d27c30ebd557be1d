//! Forgives omissions and unusual spellings in a registration.

use crate::CURRENT_VERSION;
use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, excerpt};
use crate::id::GameType;
use crate::lenient::repair::fold;
use crate::message::AgentMeta;

/// Corrects version, game and address. An agent that does not name a game is taken to play the game
/// of this league.
pub fn application(meta: &mut AgentMeta, game: Option<&GameType>, notes: &mut Notes) {
    if notes.reading == Reading::Strict {
        return;
    }
    if let Some(said) = &meta.protocol_version
        && let Some(meant) = version(said)
    {
        let detail = format!("found `{}`; send `{CURRENT_VERSION}`", excerpt(said));
        note(notes, "protocol_version", "three numbers with dots", detail);
        meta.protocol_version = Some(meant);
    }
    if let (true, Some(game)) = (meta.game_types.is_empty(), game) {
        let detail = format!("no game is named, so it is taken to be `{game}`; name it");
        note(notes, "game_types", "a list of games", detail);
        meta.game_types.push(game.clone());
    }
    for said in &mut meta.game_types {
        if let Some(game) = game.filter(|game| *game != said && is_same(game, said)) {
            let detail = format!("found `{said}`; send `{game}`");
            note(notes, "game_types", &format!("`{game}`"), detail);
            *said = game.clone();
        }
    }
    if let Some(meant) = address(&meta.contact_endpoint) {
        let said = excerpt(&meta.contact_endpoint);
        let detail = format!("found `{said}`; send `{}`", excerpt(&meant));
        let expected = "an address such as `http://localhost:8101/mcp`";
        note(notes, "contact_endpoint", expected, detail);
        meta.contact_endpoint = meant;
    }
}

/// Whether two game names differ only in spelling: `EVEN-ODD`, `EvenOdd`.
fn is_same(game: &GameType, said: &GameType) -> bool {
    fold(game.as_str()) == fold(said.as_str())
}

/// Completes an address of host and port that lacks `http://`.
fn address(said: &str) -> Option<String> {
    let plain = said.trim();
    if ["http://", "https://"]
        .iter()
        .any(|scheme| plain.starts_with(scheme))
        && plain != said
    {
        return Some(plain.to_owned());
    }
    let (host, rest) = plain.split_once(':')?;
    let port = rest.split('/').next().unwrap_or_default();
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_host = !host.is_empty() && host.bytes().all(named);
    (is_host && port.parse::<u16>().is_ok()).then(|| format!("http://{plain}"))
}

/// Converts texts such as `league.v2`, `v2.1` or `2` to a version.
fn version(said: &str) -> Option<String> {
    let plain = said.trim().to_ascii_lowercase();
    let plain = plain.strip_prefix("league").unwrap_or(&plain);
    let numbers = plain.trim_start_matches(['.', '-', '_', ' ', '/']);
    let numbers = numbers.strip_prefix('v').unwrap_or(numbers);
    let parts: Vec<&str> = numbers.split('.').collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let whole = (1..=3).contains(&parts.len()) && parts.iter().all(digits);
    let meant = [parts.as_slice(), &["0"; 2]].concat()[..3.min(parts.len() + 2)].join(".");
    (whole && meant != said).then_some(meant)
}

fn note(notes: &mut Notes, name: &str, expected: &str, detail: String) {
    let root = Path::root("ruling 13");
    let at = root.member(name, false);
    notes.forgive(Code::InvalidMessage, &at, expected, detail);
}

#[cfg(test)]
mod tests {
    use super::{address, version};

    #[test]
    fn a_version_is_read_however_it_is_written() {
        for (said, meant) in [
            ("league.v2", Some("2.0.0")),
            ("League.V2", Some("2.0.0")),
            ("v2.1", Some("2.1.0")),
            ("2", Some("2.0.0")),
            ("v2.1.0", Some("2.1.0")),
            ("2.1.0", None),
            ("1", Some("1.0.0")),
            ("two", None),
            ("", None),
            ("2.1.0.0", None),
        ] {
            assert_eq!(version(said).as_deref(), meant, "{said}");
        }
    }

    #[test]
    fn an_address_is_read_without_what_goes_without_saying() {
        for (said, meant) in [
            ("localhost:8101/mcp", Some("http://localhost:8101/mcp")),
            ("127.0.0.1:8101", Some("http://127.0.0.1:8101")),
            (
                " http://localhost:8101/mcp\n",
                Some("http://localhost:8101/mcp"),
            ),
            (
                " https://localhost:8101/mcp",
                Some("https://localhost:8101/mcp"),
            ),
            ("http://localhost:8101/mcp", None),
            ("mcp://localhost:8101/mcp", None),
            ("https://localhost:8101/mcp", None),
            ("file:/etc/passwd", None),
            ("localhost", None),
            (":8101/mcp", None),
            ("localhost:99999/mcp", None),
            ("user@localhost:8101/mcp", None),
            ("", None),
        ] {
            assert_eq!(address(said).as_deref(), meant, "{said}");
        }
    }
}
