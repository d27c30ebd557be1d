//! A league as one self-contained file: all pages, styles, scripts and the replay.
//!
//! The content security policy in its head allows exactly this style and this script, by hash. The
//! details of matches and the replay take much space, so they are compressed; the script unpacks
//! them. All else can be read without a script.

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::assets;
use crate::model::{Board, MatchPage, PlayerPage, RoundPage};
use crate::page::{self, Links, match_page, player_page, round_page};

#[derive(Debug, Clone, Copy)]
pub struct ReportContent<'a> {
    pub board: &'a Board,
    pub matches: &'a [MatchPage],
    pub players: &'a [PlayerPage],
    pub rounds: &'a [RoundPage],
    /// The replay as JSON.
    pub recording: Option<&'a str>,
    /// Compresses a text with gzip.
    pub pack: fn(&str) -> Vec<u8>,
}

/// A table of texts, with the names of its columns.
#[derive(Debug, Clone)]
pub struct PlainTable {
    pub title: String,
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// Some paragraphs and tables as one self-contained file.
pub fn write_tables(title: &str, notes: &[String], tables: &[PlainTable]) -> String {
    let style = assets::STYLES.concat();
    let policy = format!("default-src 'none'; style-src '{}'", source(&style));
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta http-equiv="Content-Security-Policy" content=(policy);
                (page::common_head(title))
                style { (PreEscaped(&style)) }
            }
            body {
                main #main {
                    h1 { (title) }
                    @for note in notes { p { (note) } }
                    @for table in tables {
                        h2 { (table.title) }
                        div.scroll { table {
                            thead { tr { @for name in &table.head { th scope="col" { (name) } } } }
                            tbody {
                                @for row in &table.rows { tr { @for cell in row { td { (cell) } } } }
                            }
                        } }
                    }
                }
            }
        }
    };
    markup.into_string()
}

/// How many matches share a pack; similar texts compress well together.
const MATCHES_PER_PACK: usize = 64;

pub fn write(report: &ReportContent<'_>) -> String {
    let style = assets::STYLES.concat();
    let script = joined(&assets::MODULES);
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        source(&style),
        source(&script)
    );
    let links = Links::File;
    let parts = page::board_parts(report.board, links);
    let packs = report.matches.chunks(MATCHES_PER_PACK);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta http-equiv="Content-Security-Policy" content=(policy);
                (page::common_head(&report.board.league.title))
                link rel="icon" href="data:,";
                style { (PreEscaped(&style)) }
            }
            body data-page="report" {
                (page::header(links))
                main #main {
                    article.page #board { (page::board_main(&parts)) }
                    @for page in report.rounds {
                        article.page id={ "round-" (page.round) } { (round_page::main(page, links)) }
                    }
                    @for (number, page) in report.matches.iter().enumerate() {
                        article.page id={ "match-" (page.match_id) } {
                            (match_page::result(page, links))
                            (placeholder(page, number / MATCHES_PER_PACK))
                        }
                    }
                    @for page in report.players {
                        article.page id={ "player-" (page.row.standing.player_id) } { (player_page::main(page, links)) }
                    }
                }
                (page::footer())
                @for (pack, pages) in packs.enumerate() {
                    script id={ "pack-" (pack) } type="application/gzip" { (base64(&(report.pack)(&details(pages)))) }
                }
                @if let Some(recording) = report.recording {
                    script #film type="application/gzip" { (base64(&(report.pack)(recording))) }
                }
                script type="module" { (PreEscaped(&script)) }
            }
        }
    };
    markup.into_string()
}

/// Placeholder of a match's details, which the script replaces.
fn placeholder(page: &MatchPage, pack: usize) -> Markup {
    html! {
        p.more data-pack={ "pack-" (pack) } {
            "The messages and the draw of this match are compressed in this file; its script unpacks them. "
            "Without scripts, "
            code { "league export --match " (page.match_id) " --league-id " (page.league.league_id) }
            " shows the messages from the league's own files."
        }
    }
}

/// The details of matches as JSON, by the ids of their pages.
fn details(pages: &[MatchPage]) -> String {
    let of = |page: &MatchPage| {
        let html = match_page::details(page, Links::File).into_string();
        (format!("match-{}", page.match_id), html)
    };
    let all: BTreeMap<String, String> = pages.iter().map(of).collect();
    serde_json::to_string(&all).unwrap_or_default()
}

/// Joins modules into one script by dropping their imports and exports.
fn joined(modules: &[(&str, &str)]) -> String {
    let lines = modules.iter().flat_map(|(_, body)| body.lines());
    let kept = lines.filter(|line| !line.starts_with("import "));
    let bare = kept.map(|line| line.strip_prefix("export ").unwrap_or(line));
    bare.flat_map(|line| [line, "\n"]).collect()
}

/// The hash of a text as a policy source.
fn source(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text)))
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() {
                char::from(letter)
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

    /// The top-level names that a module declares.
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
    fn joined_modules_declare_each_name_once() {
        let all: Vec<&str> = assets::MODULES
            .iter()
            .flat_map(|(_, body)| declared(body))
            .collect();
        let different: BTreeSet<&&str> = all.iter().collect();
        assert!(all.len() > 30);
        assert_eq!(different.len(), all.len(), "{all:?}");
    }

    #[test]
    fn modules_come_after_their_imports() {
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
    fn joined_script_has_no_imports() {
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
    fn hash_is_base64_as_in_a_policy() {
        assert_eq!(base64(b"Ma"), "TWE=");
        assert_eq!(base64(b"Man"), "TWFu");
        assert_eq!(base64(b"M"), "TQ==");
        assert_eq!(
            source(""),
            "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        );
    }
}
