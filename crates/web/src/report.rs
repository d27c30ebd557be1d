//! A league as one file that needs nothing else: all its pages, its style, its script, its film.
//!
//! The policy in its head allows exactly this style and this script, by their hashes. What takes
//! much room and is looked at one by one is packed: how matches came to their ends, and the film.
//! The script unpacks it; all else can be read without.

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::assets;
use crate::model::{Board, MatchPage, PlayerPage, RoundPage};
use crate::page::{self, Links};

/// What goes into a report.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The first page.
    pub board: &'a Board,
    /// The pages of matches.
    pub matches: &'a [MatchPage],
    /// The pages of players.
    pub players: &'a [PlayerPage],
    /// The pages of rounds.
    pub rounds: &'a [RoundPage],
    /// The league played back, as JSON.
    pub film: Option<&'a str>,
    /// Packs a text, as gzip does.
    pub pack: fn(&str) -> Vec<u8>,
}

/// How many matches are packed together: alike as they are, they take little room then.
const PACKED_TOGETHER: usize = 64;

/// Writes the one file.
pub fn write(report: &Report<'_>) -> String {
    let style = assets::STYLES.concat();
    let script = joined(&assets::MODULES);
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        source(&style),
        source(&script)
    );
    let links = Links::File;
    let parts = page::board_parts(report.board, &links);
    let packs = report.matches.chunks(PACKED_TOGETHER);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta http-equiv="Content-Security-Policy" content=(policy);
                (page::script_free_head(&report.board.league.title))
                link rel="icon" href="data:,";
                style { (PreEscaped(&style)) }
            }
            body data-page="report" {
                (page::header(links))
                main #main {
                    article.page #board { (page::board_main(&parts)) }
                    @for page in report.rounds {
                        article.page id={ "round-" (page.round) } { (page::round_main(page, links)) }
                    }
                    @for (number, page) in report.matches.iter().enumerate() {
                        article.page id={ "match-" (page.match_id) } {
                            (page::match_result(page, links))
                            (packed(page, number / PACKED_TOGETHER))
                        }
                    }
                    @for page in report.players {
                        article.page id={ "player-" (page.standing.player_id) } { (page::player_main(page, links)) }
                    }
                }
                (page::footer())
                @for (pack, pages) in packs.enumerate() {
                    script id={ "pack-" (pack) } type="application/gzip" { (base64(&(report.pack)(&details(pages)))) }
                }
                @if let Some(film) = report.film {
                    script #film type="application/gzip" { (base64(&(report.pack)(film))) }
                }
                script type="module" { (PreEscaped(&script)) }
            }
        }
    };
    markup.into_string()
}

/// Where the script puts how a match came to its end, and what is there without it.
fn packed(page: &MatchPage, pack: usize) -> Markup {
    html! {
        p.more data-pack={ "pack-" (pack) } {
            "What was said in this match and how it was drawn is packed in this file, and a script of it unpacks that. "
            "Without one, "
            code { "league replay --match " (page.match_id) " --league-id " (page.league.league_id) }
            " tells what was said from the league's own files."
        }
    }
}

/// How matches came to their ends, as JSON by the ids of their pages.
fn details(pages: &[MatchPage]) -> String {
    let of = |page: &MatchPage| {
        let html = page::match_details(page, Links::File).into_string();
        (format!("match-{}", page.match_id), html)
    };
    let all: BTreeMap<String, String> = pages.iter().map(of).collect();
    serde_json::to_string(&all).unwrap_or_default()
}

/// Several modules as one: what they take from each other stands in the same text.
fn joined(modules: &[(&str, &str)]) -> String {
    let lines = modules.iter().flat_map(|(_, body)| body.lines());
    let kept = lines.filter(|line| !line.starts_with("import "));
    let bare = kept.map(|line| line.strip_prefix("export ").unwrap_or(line));
    bare.flat_map(|line| [line, "\n"]).collect()
}

/// A text as the policy names it.
fn source(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text)))
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let sign = SIGNS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() {
                char::from(sign)
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The names that a module declares for itself or for others, outside of any function.
    fn declared(body: &str) -> Vec<&str> {
        let words = ["function ", "async function ", "const ", "let "];
        let lines = body
            .lines()
            .map(|line| line.strip_prefix("export ").unwrap_or(line));
        let rest = lines.filter_map(|line| words.iter().find_map(|word| line.strip_prefix(word)));
        rest.filter_map(|rest| {
            rest.split(|sign: char| !sign.is_alphanumeric() && sign != '_')
                .next()
        })
        .filter(|name| !name.is_empty())
        .collect()
    }

    #[test]
    fn modules_can_be_joined_without_two_things_of_one_name() {
        let all: Vec<&str> = assets::MODULES
            .iter()
            .flat_map(|(_, body)| declared(body))
            .collect();
        let different: BTreeSet<&&str> = all.iter().collect();
        assert!(all.len() > 30);
        assert_eq!(different.len(), all.len(), "{all:?}");
    }

    #[test]
    fn what_a_module_takes_stands_before_it() {
        let mut known: Vec<String> = Vec::new();
        for (name, body) in assets::MODULES {
            for line in body.lines().filter(|line| line.starts_with("import ")) {
                let (taken, rest) = line[8..].split_once('}').unwrap();
                let from = rest
                    .trim_start_matches(" from \"./")
                    .trim_end_matches("\";");
                for thing in taken.split(',') {
                    let wanted = format!("{from}/{}", thing.trim());
                    assert!(known.contains(&wanted), "{name} takes {wanted}");
                }
            }
            let exported = body.lines().filter(|line| line.starts_with("export "));
            let exported = exported.flat_map(declared);
            known.extend(exported.map(|thing| format!("{name}/{thing}")));
        }
    }

    #[test]
    fn the_joined_script_takes_nothing_from_elsewhere() {
        let script = joined(&assets::MODULES);
        assert!(
            !script
                .lines()
                .any(|line| line.starts_with("import") || line.starts_with("export"))
        );
        assert!(script.contains("\nfunction applyPatch("));
        assert!(!script.contains("</script"));
    }

    #[test]
    fn a_hash_is_written_as_policies_write_it() {
        assert_eq!(base64(b"Ma"), "TWE=");
        assert_eq!(base64(b"Man"), "TWFu");
        assert_eq!(base64(b"M"), "TQ==");
        assert_eq!(
            source(""),
            "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        );
    }
}
