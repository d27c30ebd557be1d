//! Styles, scripts and icon of the pages, for the site and for reports.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    pub body: &'static str,
    /// The media type.
    pub kind: &'static str,
    /// The `ETag`, with quotes.
    pub tag: String,
}

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const ICON: &str = "image/svg+xml";

/// Name, media type and text of all that is not a module of every page.
const STATIC: [(&str, &str, &str); 7] = [
    ("style.css", STYLE, include_str!("../assets/style.css")),
    ("details.css", STYLE, include_str!("../assets/details.css")),
    ("views.css", STYLE, include_str!("../assets/views.css")),
    ("stage.css", STYLE, include_str!("../assets/stage.css")),
    ("icon.svg", ICON, include_str!("../assets/icon.svg")),
    // A report has no seats.
    ("seat.css", STYLE, include_str!("../assets/seat.css")),
    ("seat.js", SCRIPT, include_str!("../assets/seat.js")),
];

/// In the order of the cascade.
pub(crate) const STYLES: [&str; 3] = [STATIC[0].2, STATIC[1].2, STATIC[2].2];

/// Each module comes after those that it imports.
pub(crate) const MODULES: [(&str, &str); 10] = [
    ("patch.js", include_str!("../assets/patch.js")),
    ("clock.js", include_str!("../assets/clock.js")),
    ("live.js", include_str!("../assets/live.js")),
    ("replay.js", include_str!("../assets/replay.js")),
    ("packed.js", include_str!("../assets/packed.js")),
    ("draw.js", include_str!("../assets/draw.js")),
    ("positions.js", include_str!("../assets/positions.js")),
    ("scroll.js", include_str!("../assets/scroll.js")),
    ("stage.js", include_str!("../assets/stage.js")),
    ("page.js", include_str!("../assets/page.js")),
];

/// Finds an asset by its name below `/assets/`.
pub fn find(name: &str) -> Option<Asset> {
    let modules = MODULES.iter().map(|(name, body)| (*name, SCRIPT, *body));
    let mut all = STATIC.into_iter().chain(modules);
    let (_, kind, body) = all.find(|(known, ..)| *known == name)?;
    Some(Asset {
        body,
        kind,
        tag: tag(body),
    })
}

pub fn names() -> impl Iterator<Item = &'static str> {
    let modules = MODULES.iter().map(|(name, _)| *name);
    STATIC.iter().map(|(name, ..)| *name).chain(modules)
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

    /// All assets together, in bytes.
    const MAX_TOTAL: usize = 88 * 1024;

    #[test]
    fn assets_have_a_total_size_limit() {
        let weight: usize = names().filter_map(find).map(|asset| asset.body.len()).sum();
        assert!(weight < MAX_TOTAL, "{weight}");
    }

    #[test]
    fn tags_are_unique() {
        let tags: std::collections::BTreeSet<String> =
            names().filter_map(find).map(|asset| asset.tag).collect();
        assert_eq!(tags.len(), names().count());
        assert!(
            tags.iter()
                .all(|tag| tag.len() == 26 && tag.starts_with('"'))
        );
    }

    #[test]
    fn unknown_name_is_not_found() {
        assert_eq!(find("../assets.rs"), None);
        assert_eq!(find(""), None);
    }
}
