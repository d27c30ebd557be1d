//! Counts tests by reading what the test runners print.
//!
//! One function for each runner; which step uses which is said in `steps`.

use std::fmt;
use std::ops::AddAssign;

/// How many tests passed and how many failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// Reads the line with which a Rust test binary sums itself up; any other line counts nothing.
pub(crate) fn from_cargo_test(line: &str) -> Option<Tally> {
    let summary = line.strip_prefix("test result: ")?;
    // The word before the numbers may carry colour codes, so only the numbers are read.
    let (_, numbers) = summary.split_once(". ")?;
    let mut parts = numbers.split("; ");
    let passed = parts.next()?.strip_suffix(" passed")?.parse().ok()?;
    let failed = parts.next()?.strip_suffix(" failed")?.parse().ok()?;
    Some(Tally { passed, failed })
}

/// Reads a closing line of Node's test runner, such as `ℹ pass 12`; any other counts nothing.
pub(crate) fn from_node_test(line: &str) -> Option<Tally> {
    let plain = without_colour(line);
    let closing = plain.strip_prefix("ℹ ").or(plain.strip_prefix("# "))?;
    let (word, number) = closing.split_once(' ')?;
    let number = number.parse().ok()?;
    let (passed, failed) = match word {
        "pass" => (number, 0),
        "fail" | "cancelled" => (0, number),
        _ => return None,
    };
    Some(Tally { passed, failed })
}

/// A line without the codes that colour it on a terminal.
fn without_colour(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_line_is_counted() {
        let line = "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; \
                    0 filtered out; finished in 0.01s";
        assert_eq!(
            from_cargo_test(line),
            Some(Tally {
                passed: 12,
                failed: 3
            })
        );
    }

    #[test]
    fn a_coloured_summary_line_is_counted() {
        let line = "test result: \u{1b}[32mok\u{1b}(B\u{1b}[m. 7 passed; 0 failed; 0 ignored";
        assert_eq!(
            from_cargo_test(line),
            Some(Tally {
                passed: 7,
                failed: 0
            })
        );
    }

    #[test]
    fn any_other_line_counts_nothing() {
        for line in [
            "",
            "running 3 tests",
            "test result: ",
            "test result: ok. many passed; 0 failed;",
            "test says_test_result ... ok",
            "note: test result: ok. 1 passed; 0 failed;",
        ] {
            assert_eq!(from_cargo_test(line), None, "{line}");
        }
    }

    #[test]
    fn the_closing_lines_of_node_are_counted() {
        let counted = |lines: &[&str]| {
            let mut sum = Tally::default();
            for line in lines {
                sum += from_node_test(line).unwrap_or_default();
            }
            (sum.passed, sum.failed)
        };
        let spec = ["ℹ tests 9", "ℹ suites 1", "ℹ pass 6", "ℹ fail 2"];
        assert_eq!(counted(&spec), (6, 2));
        let tap = ["# tests 9", "# pass 5", "# cancelled 1", "# skipped 3"];
        assert_eq!(counted(&tap), (5, 1));
        let coloured = [
            "\u{1b}[34mℹ pass 4\u{1b}[39m",
            "\u{1b}[34mℹ fail 0\u{1b}[39m",
        ];
        assert_eq!(counted(&coloured), (4, 0));
    }

    #[test]
    fn any_other_line_of_node_counts_nothing() {
        for line in [
            "",
            "✔ a page shows a table (12.5ms)",
            "    ℹ pass 3",
            "ℹ pass all",
            "ℹ duration_ms 812.5",
            "ℹ tests 4",
            "pass 4",
        ] {
            assert_eq!(from_node_test(line), None, "{line}");
        }
    }

    #[test]
    fn tallies_add_up_and_print_as_one_line() {
        let mut sum = Tally::default();
        sum += Tally {
            passed: 2,
            failed: 1,
        };
        sum += Tally {
            passed: 3,
            failed: 0,
        };
        assert_eq!(sum.to_string(), "5 passed, 1 failed");
    }
}
