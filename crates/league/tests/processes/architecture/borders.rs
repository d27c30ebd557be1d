//! Who may depend on whom, and with which features.

use toml::{Table, Value};

use crate::architecture::hold;
use crate::architecture::workspace::{Member, PURE, at, members, place, strings, table};

/// What a pure crate may use, its own crates first.
struct Allowed {
    name: &'static str,
    ours: &'static [&'static str],
    others: &'static [&'static str],
}

const ALLOWED: [Allowed; 6] = [
    Allowed {
        name: "league-games",
        ours: &[],
        others: &[
            "rand_chacha",
            "rand_core",
            "serde",
            "serde_json",
            "thiserror",
        ],
    },
    Allowed {
        name: "league-protocol",
        ours: &[],
        others: &[
            "memchr",
            "serde",
            "serde_json",
            "sha2",
            "smol_str",
            "thiserror",
            "time",
            "uuid",
        ],
    },
    Allowed {
        name: "league-core",
        ours: &["league-games", "league-protocol"],
        others: &[
            "hmac",
            "icu_normalizer",
            "icu_properties",
            "serde",
            "serde_json",
            "sha2",
            "smol_str",
            "thiserror",
        ],
    },
    Allowed {
        name: SIMULATION,
        ours: &["league-core", "league-games", "league-protocol"],
        others: &["serde", "serde_json", "slab"],
    },
    Allowed {
        name: TESTKIT,
        ours: &["league-core", "league-games", "league-protocol"],
        others: &["serde_json"],
    },
    Allowed {
        name: "league-web",
        ours: &["league-core", "league-games", "league-protocol"],
        others: &["maud", "qrcode", "serde", "serde_json", "sha2"],
    },
];

/// The crate that plays whole leagues; pure, and no part of the product.
const SIMULATION: &str = "league-simulation";
/// The crate that plays leagues for tests.
const TESTKIT: &str = "league-testkit";

/// What the tests of a pure crate may use besides.
const FOR_TESTS: [&str; 5] = ["insta", "jsonschema", TESTKIT, "proptest", "serde_json"];

/// Crates that may touch the world.
const UNBOUND: [&str; 5] = [
    "league",
    "league-check",
    "league-kit",
    "league-mcp",
    "xtask",
];

/// The features that a pure crate may turn on in crates that have others which read the clock, the
/// local offset or the system's chance.
///
/// `formatting` of `time` brings its `std` along, and with it `now_utc`; the lists of forbidden
/// names in `purity` close that door.
const TAME: [(&str, &[&str]); 4] = [
    ("rand_chacha", &["serde"]),
    ("rand_core", &[]),
    ("time", &["formatting", "macros", "parsing"]),
    ("uuid", &["serde", "v5"]),
];

const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

#[test]
fn pure_crates_have_only_allowed_dependencies() {
    let mut offenders = Vec::new();
    for (member, allowed) in bound() {
        for dependency in dependencies(&member) {
            let for_tests = dependency.kind == "dev-dependencies"
                && FOR_TESTS.contains(&dependency.name.as_str());
            let for_all = dependency.kind != "build-dependencies"
                && [allowed.ours, allowed.others]
                    .concat()
                    .contains(&dependency.name.as_str());
            if !for_tests && !for_all {
                offenders.push(dependency.place(&member));
            }
        }
    }
    hold(
        "the pure crates use nothing that could reach the world, and games and wire not each other",
        &offenders,
        "do without it, or do that part in `league`; if it is pure, add it to `ALLOWED` in \
         tests/processes/architecture/borders.rs and say why in a page of docs/decisions",
    );
}

#[test]
fn every_crate_is_in_the_table() {
    let known: Vec<&str> = ALLOWED
        .iter()
        .map(|allowed| allowed.name)
        .chain(UNBOUND)
        .collect();
    let strangers: Vec<String> = members()
        .iter()
        .filter(|member| !known.contains(&member.name()))
        .map(|member| format!("{}: `{}`", place(&member.path(), "name"), member.name()))
        .collect();
    hold(
        "every crate is listed with what it may depend on",
        &strangers,
        "give it a row in `ALLOWED`, or a word in `UNBOUND` if it may touch the world, in \
         tests/processes/architecture/borders.rs",
    );
    assert_eq!(
        bound().len(),
        PURE.len(),
        "`ALLOWED` and `PURE` list the same crates"
    );
}

#[test]
fn product_has_no_test_crates() {
    let members = members();
    let league = members
        .iter()
        .find(|member| member.name() == "league")
        .unwrap();
    let offenders: Vec<String> = dependencies(league)
        .into_iter()
        .filter(|dependency| dependency.kind == "dependencies")
        .filter(|dependency| [SIMULATION, TESTKIT].contains(&dependency.name.as_str()))
        .map(|dependency| dependency.place(league))
        .collect();
    hold(
        "the product does not contain the simulation or the test kit",
        &offenders,
        "make it a dev-dependency",
    );
}

#[test]
fn pure_crates_enable_no_clock_or_random_feature() {
    let root = table("Cargo.toml");
    let mut offenders = Vec::new();
    for (name, tame) in TAME {
        let shared = at(&root, &["workspace", "dependencies", name]);
        offenders.extend(wild(shared, name, tame, "Cargo.toml"));
        for (member, _) in bound() {
            for dependency in dependencies(&member)
                .iter()
                .filter(|found| found.name == name)
            {
                let path = member.path();
                let own = Some(&dependency.value);
                let inherits = dependency.value.get("workspace").is_some();
                offenders.extend(if inherits {
                    wild_features(own, name, tame, &path)
                } else {
                    wild(own, name, tame, &path)
                });
            }
        }
    }
    hold(
        "time is an argument and chance is a seed, so the features that fetch either stay off",
        &offenders,
        "set `default-features = false`, drop the feature, or turn it on in `league` alone; a \
         feature that fetches neither may be added to `TAME` in tests/processes/architecture/borders.rs",
    );
}

#[test]
fn only_the_mcp_crate_names_rmcp() {
    let offenders: Vec<String> = members()
        .iter()
        .filter(|member| member.folder != "crates/mcp")
        .flat_map(|member| {
            dependencies(member)
                .into_iter()
                .filter(|found| found.name == "rmcp" && found.kind != "dev-dependencies")
                .map(|found| found.place(member))
                .collect::<Vec<_>>()
        })
        .collect();
    hold(
        "`rmcp` is heavy to link and its types stay in `crates/mcp`",
        &offenders,
        "use what `crates/mcp` offers; as a judge in tests it may be a dev-dependency",
    );
}

struct Dependency {
    kind: &'static str,
    /// What the manifest calls it.
    key: String,
    /// The name of the crate itself, even where the manifest calls it something else.
    name: String,
    value: Value,
}

impl Dependency {
    fn place(&self, member: &Member) -> String {
        format!(
            "{}: `{}` in [{}]",
            place(&member.path(), &self.key),
            self.name,
            self.kind
        )
    }
}

fn bound() -> Vec<(Member, &'static Allowed)> {
    members()
        .into_iter()
        .filter_map(|member| {
            let allowed = ALLOWED
                .iter()
                .find(|allowed| allowed.name == member.name())?;
            Some((member, allowed))
        })
        .collect()
}

/// Lists all dependencies of a crate, those for one platform too.
fn dependencies(member: &Member) -> Vec<Dependency> {
    let platforms = at(&member.manifest, &["target"]).and_then(Value::as_table);
    let tables = platforms
        .into_iter()
        .flat_map(|platforms| platforms.values().filter_map(Value::as_table))
        .chain([&member.manifest]);
    tables
        .flat_map(|table| KINDS.iter().flat_map(|kind| of_kind(table, kind)))
        .collect()
}

fn of_kind(manifest: &Table, kind: &'static str) -> Vec<Dependency> {
    let root = table("Cargo.toml");
    let listed = manifest.get(kind).and_then(Value::as_table);
    listed
        .into_iter()
        .flatten()
        .map(|(key, value)| {
            let shared = at(&root, &["workspace", "dependencies", key, "package"]);
            let renamed = value.get("package").or(shared).and_then(Value::as_str);
            let name = renamed.unwrap_or(key).to_owned();
            Dependency {
                kind,
                key: key.clone(),
                name,
                value: value.clone(),
            }
        })
        .collect()
}

/// Lists what is wrong with an entry that chooses its version: its defaults, its features.
fn wild(entry: Option<&Value>, name: &str, tame: &[&str], path: &str) -> Vec<String> {
    let Some(entry) = entry else {
        return Vec::new();
    };
    let mut found = wild_features(Some(entry), name, tame, path);
    if entry.get("default-features").and_then(Value::as_bool) != Some(false) {
        found.push(format!(
            "{}: `{name}` with its default features",
            place(path, name)
        ));
    }
    found
}

fn wild_features(entry: Option<&Value>, name: &str, tame: &[&str], path: &str) -> Vec<String> {
    strings(entry.and_then(|entry| entry.get("features")))
        .into_iter()
        .filter(|feature| !tame.contains(feature))
        .map(|feature| {
            format!(
                "{}: `{name}` with the feature `{feature}`",
                place(path, name)
            )
        })
        .collect()
}
