//! `league bench`, as small as it can be.

use serde_json::Value;

use crate::cli::league;

fn bench(flags: &[&str]) -> String {
    let length = [
        "bench",
        "--passes",
        "1",
        "--seconds",
        "0",
        "--matches",
        "50",
    ];
    let place = ["--at-once", "2", "--python", "no-such-python"];
    league(&[&length[..], &place, flags].concat(), "")
}

#[test]
fn every_variant_is_measured_in_both_layouts() {
    let told = bench(&["--json"]);
    let (out, errors) = told.split_once("--- errors\n").unwrap();
    assert!(
        errors.contains("python is skipped: `no-such-python`"),
        "{told}"
    );
    let objects = out.lines().filter(|line| line.starts_with('{'));
    let objects: Vec<Value> = objects
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let [one, seven, targets] = &objects[..] else {
        panic!("{told}")
    };
    assert_eq!(one["scene"]["layout"], "one-process");
    assert_eq!(seven["scene"]["layout"], "seven-processes");
    for scene in [one, seven] {
        let calls = scene["calls_per_match"].as_f64().unwrap();
        assert!((15.5..16.5).contains(&calls), "{scene}");
        let variants = scene["variants"].as_array().unwrap();
        let names: Vec<_> = variants.iter().map(|it| it["variant"].as_str()).collect();
        assert_eq!(names, ["league", "hyper", "hyper-again", "tcp"].map(Some));
        for variant in variants {
            let [pass] = &variant["passes"].as_array().unwrap()[..] else {
                panic!("{variant}")
            };
            assert!(pass["matches"].as_u64() > Some(0), "{variant}");
            assert!(pass["cpu"].as_f64() > Some(0.0), "{variant}");
            assert!(
                pass["whole_cpu"].as_f64() >= pass["cpu"].as_f64(),
                "{variant}"
            );
            assert!(pass["memory"].as_u64() > Some(1_000_000), "{variant}");
        }
        let disk = &variants[0]["passes"][0]["disk"];
        assert!(disk["data"].as_f64() > Some(1_000.0), "{disk}");
    }
    let targets = targets["targets"].as_array().unwrap();
    assert_eq!(
        targets.len(),
        2,
        "disk alone is judged at two at once: {told}"
    );
}

#[test]
fn parts_are_chosen_by_name() {
    let told = bench(&["--only", "one-process tcp"]);
    assert!(told.contains("\n2 at once, one process: 16."), "{told}");
    assert!(told.contains("\n  tcp "), "{told}");
    assert!(
        !told.contains("\n  hyper ") && !told.contains("seven"),
        "{told}"
    );
    assert!(!told.contains("NaN") && !told.contains("inf "), "{told}");
}

#[test]
fn part_that_does_not_exist_is_wrong_use() {
    let told = bench(&["--only", "warp"]);
    assert!(told.starts_with("exit code 2\n"), "{told}");
    assert!(
        told.contains("cause: nothing is called `warp`\nhint: give a part of"),
        "{told}"
    );
}
