//! Style, scripts and picture of the pages, as they are served and as they go into a report.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Something that a page loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// Its text.
    pub body: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// Changes whenever the text does: an `ETag`, quotes and all.
    pub tag: String,
}

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// Everything there is: its name, its media type, its text.
const ALL: [(&str, &str, &str); 3] = [
    ("style.css", STYLE, include_str!("../assets/style.css")),
    ("details.css", STYLE, include_str!("../assets/details.css")),
    ("icon.svg", PICTURE, include_str!("../assets/icon.svg")),
];

/// The style, in the order in which it is read.
pub(crate) const STYLES: [&str; 2] = [ALL[0].2, ALL[1].2];

/// The modules in such an order that each stands after those it takes from.
pub(crate) const MODULES: [(&str, &str); 8] = [
    ("patch.js", include_str!("../assets/patch.js")),
    ("clock.js", include_str!("../assets/clock.js")),
    ("live.js", include_str!("../assets/live.js")),
    ("film.js", include_str!("../assets/film.js")),
    ("packed.js", include_str!("../assets/packed.js")),
    ("draw.js", include_str!("../assets/draw.js")),
    ("positions.js", include_str!("../assets/positions.js")),
    ("page.js", include_str!("../assets/page.js")),
];

/// Finds an asset by its name under `/assets/`.
pub fn find(name: &str) -> Option<Asset> {
    let modules = MODULES.iter().map(|(name, body)| (*name, SCRIPT, *body));
    let mut all = ALL.into_iter().chain(modules);
    let (_, kind, body) = all.find(|(known, ..)| *known == name)?;
    Some(Asset {
        body,
        kind,
        tag: tag(body),
    })
}

/// The names of all assets.
pub fn names() -> impl Iterator<Item = &'static str> {
    let modules = MODULES.iter().map(|(name, _)| *name);
    ALL.iter().map(|(name, ..)| *name).chain(modules)
}

fn tag(body: &str) -> String {
    let digest = Sha256::digest(body);
    let mut tag = String::from("\"");
    for byte in digest.iter().take(12) {
        let _ = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    tag
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most that style, scripts and picture weigh together, in bytes.
    const HEAVIEST: usize = 60_000;

    #[test]
    fn all_assets_together_are_light() {
        let weight: usize = names().filter_map(find).map(|asset| asset.body.len()).sum();
        assert!(weight < HEAVIEST, "{weight}");
    }

    #[test]
    fn a_tag_tells_texts_apart() {
        let tags: std::collections::BTreeSet<String> =
            names().filter_map(find).map(|asset| asset.tag).collect();
        assert_eq!(tags.len(), names().count());
        assert!(
            tags.iter()
                .all(|tag| tag.len() == 26 && tag.starts_with('"'))
        );
    }

    #[test]
    fn an_unknown_name_finds_nothing() {
        assert_eq!(find("../assets.rs"), None);
        assert_eq!(find(""), None);
    }
}
