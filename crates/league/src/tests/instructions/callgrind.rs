//! Reads a profile of callgrind: how many instructions all calls of a function took, with what they
//! called themselves.

use std::collections::BTreeMap;

/// The instructions of all calls to functions of this name, generic or not, from functions of other
/// names.
pub(crate) fn inclusive(profile: &str, wanted: &str) -> u64 {
    let mut names = BTreeMap::new();
    let (mut caller, mut callee) = (String::new(), String::new());
    let (mut is_call, mut sum) = (false, 0);
    for line in profile.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            caller = resolve(name, &mut names);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            callee = resolve(name, &mut names);
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if is_call {
            // The line after `calls=` has the place and the cost of the calls.
            is_call = false;
            if is_of(&callee, wanted) && !is_of(&caller, wanted) {
                let cost = line.split_whitespace().nth(1);
                sum += cost.and_then(|cost| cost.parse::<u64>().ok()).unwrap_or(0);
            }
        }
    }
    sum
}

/// A name is given once with its number, `(7) name`, and later by the number alone.
fn resolve(said: &str, names: &mut BTreeMap<String, String>) -> String {
    match said.split_once(' ') {
        Some((number, name)) => {
            names.insert(number.to_owned(), name.to_owned());
            name.to_owned()
        }
        None => names.get(said).cloned().unwrap_or_else(|| said.to_owned()),
    }
}

/// Whether a symbol is the function: its path, and perhaps a type or a hash behind it.
fn is_of(symbol: &str, wanted: &str) -> bool {
    let rest = symbol.strip_prefix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::<") || rest.starts_with("::h"))
}

mod tests {
    use super::*;

    const PROFILE: &str = "\
events: Ir
fn=(1) program::main
10 5
cfn=(2) program::work::<u8>
calls=2 20
11 300
cfn=(3) program::other
calls=1 30
12 40
fn=(2)
20 100
cfn=(2)
calls=1 20
21 70
fn=(4) program::again
5 1
cfn=(2)
calls=1 20
6 30
";

    #[test]
    fn calls_of_a_function_are_summed_without_those_of_itself() {
        assert_eq!(inclusive(PROFILE, "program::work"), 330);
        assert_eq!(inclusive(PROFILE, "program::other"), 40);
    }

    #[test]
    fn function_is_found_by_its_whole_name() {
        assert_eq!(inclusive(PROFILE, "program::wor"), 0);
        assert_eq!(inclusive(PROFILE, "program::othe"), 0);
    }
}
