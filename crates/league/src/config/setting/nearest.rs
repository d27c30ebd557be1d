//! Finds the word that somebody probably meant.

/// The longest word that is compared, in characters.
const LONGEST_WORD: usize = 64;

/// The known word that is closest to `found`, if one is close.
pub(crate) fn nearest<'word>(
    found: &str,
    known: impl Iterator<Item = &'word str>,
) -> Option<&'word str> {
    let found: Vec<char> = found.chars().take(LONGEST_WORD).collect();
    let near = (found.len() / 3).max(1);
    known
        .map(|word| (distance(&found, word), word))
        .filter(|(distance, _)| *distance <= near)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// How many letters have to be put in, left out or changed; capitals do not matter.
fn distance(one: &[char], other: &str) -> usize {
    let other: Vec<char> = other.chars().take(LONGEST_WORD).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.iter().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for (column, against) in other.iter().enumerate() {
            let same = letter.eq_ignore_ascii_case(against);
            let changed = corner + usize::from(!same);
            corner = row[column + 1];
            row[column + 1] = changed.min(corner + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_none() {
        let known = ["move_timeout_sec", "max_retries", "bind"];
        for (found, meant) in [
            ("move_timout_sec", Some("move_timeout_sec")),
            ("MOVE_TIMEOUT_SEC", Some("move_timeout_sec")),
            ("max_retry", Some("max_retries")),
            ("bin", Some("bind")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(found, known.into_iter()), meant, "{found}");
        }
    }
}
