//! What a report shows: the text, the lines of JSON, the XML.

use std::time::Duration;

use league::cli::paragraph;
use league_check::AgentKind;
use league_check::rehearsal::plan;
use league_check::report::{Rehearsal, Report, json, junit, text};
use league_check::rule::Level;
use league_check::trial::CanPlay;
use league_check::verdict::{Finding, Verdict, can_play};
use serde_json::Value;

fn finding(id: &str, topic: &'static str, level: Level, verdict: Verdict) -> Finding {
    let wrong = matches!(verdict, Verdict::Fail | Verdict::Deviation);
    let told = |text: &str| {
        if wrong {
            text.to_owned()
        } else {
            String::new()
        }
    };
    Finding {
        topic,
        id: id.to_owned(),
        title: "The choice is exactly `even` or `odd`".into(),
        clause: "000 §4.12.2",
        level,
        verdict,
        found: match verdict {
            Verdict::Skipped => "the player did not register".to_owned(),
            _ => told("`parity_choice` is \"Even\" & <more>"),
        },
        fix: told("set `parity_choice` to even or odd, in lower case"),
        sent: told("{\"method\":\"choose_parity\"}"),
        came: told(&format!("HTTP 200 {}", "x".repeat(300))),
        took: Duration::from_millis(7),
    }
}

fn report() -> Report {
    Report {
        agent: "http://localhost:8101/mcp".to_owned(),
        kind: AgentKind::Player,
        dialect: "v2",
        speech: "simple",
        strict: false,
        can_play: CanPlay::Yes,
        in_strict_league: None,
        registration: None,
        findings: vec![
            finding("P-JOIN-01", "invitation", Level::Must, Verdict::Pass),
            finding("P-JOIN-05", "invitation", Level::Must, Verdict::Deviation),
            finding("P-PICK-02", "choice", Level::Must, Verdict::Fail),
            finding("P-PICK-11", "choice", Level::Should, Verdict::Pass),
            finding(
                "P-BACK-01",
                "recovery and end",
                Level::Must,
                Verdict::Skipped,
            ),
        ],
        rehearsal: None,
    }
}

fn printed(print: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    print(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn text_begins_with_the_total_and_the_worst() {
    let shown = printed(|out| text(&report(), false, paragraph, out).unwrap());
    let beginning = "\
can it play here? yes
player at http://localhost:8101/mcp: dialect v2, speech simple
5 rules: 2 passed, 1 deviation, 1 failed, 1 skipped
grade D (57 of 100)
";
    assert!(shown.starts_with(beginning), "{shown}");
    let places = [
        "Failures",
        "P-PICK-02",
        "Deviations",
        "P-JOIN-05",
        "Skipped",
        "P-BACK-01",
        "Passed",
    ];
    let places: Vec<usize> = places
        .iter()
        .map(|word| shown.find(word).unwrap())
        .collect();
    assert!(places.is_sorted(), "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'));
    let coloured = printed(|out| text(&report(), true, paragraph, out).unwrap());
    assert!(coloured.contains("\u{1b}[31mP-PICK-02"), "{coloured}");
}

#[test]
fn rules_broken_by_one_cause_are_grouped() {
    let mut report = report();
    for id in ["P-PICK-03", "P-PICK-04"] {
        let more = finding(id, "choice", Level::Must, Verdict::Fail);
        report.findings.push(more);
    }
    let shown = printed(|out| text(&report, false, paragraph, out).unwrap());
    let told = "\n3 rules failed because of this: `parity_choice` is \"Even\" & <more>\n  \
                rules  P-PICK-02 P-PICK-03 P-PICK-04\n";
    assert!(shown.contains(told), "{shown}");
    assert_eq!(shown.matches("sent   ").count(), 2, "{shown}");
    assert_eq!(shown.matches("fix    ").count(), 2, "{shown}");
}

#[test]
fn group_names_each_fix_with_its_rules() {
    let mut report = report();
    for id in ["P-PICK-03", "P-PICK-04"] {
        let mut more = finding(id, "choice", Level::Must, Verdict::Fail);
        "answer in time".clone_into(&mut more.fix);
        report.findings.push(more);
    }
    let shown = printed(|out| text(&report, false, paragraph, out).unwrap());
    assert!(
        shown.contains("  fix    P-PICK-03 P-PICK-04: answer in time\n"),
        "{shown}"
    );
    assert!(
        shown.contains("  fix    P-PICK-02: set `parity_choice`"),
        "{shown}"
    );
}

#[test]
fn json_lines_are_rules_and_then_the_summary() {
    let shown = printed(|out| json(&report(), 0, out).unwrap());
    let lines: Vec<Value> = shown
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[2]["verdict"], "fail");
    assert_eq!(lines[2]["id"], "P-PICK-02");
    assert_eq!(lines[5]["event"], "summary");
    assert_eq!(lines[5]["score"], 57);
    assert_eq!(lines[5]["grade"], "D");
    assert_eq!(lines[5]["can_play"]["answer"], "yes");
}

/// Reads XML as far as it takes to see that every element is closed; gives the names of all.
fn elements(xml: &str) -> Vec<&str> {
    let (mut open, mut names) = (Vec::new(), Vec::new());
    for (_, tag) in xml.match_indices('<').map(|(start, _)| {
        let rest = &xml[start + 1..];
        (start, &rest[..rest.find('>').unwrap()])
    }) {
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap();
        match tag {
            _ if tag.starts_with('?') => {}
            _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(name), "{xml}"),
            _ if tag.ends_with('/') => names.push(name),
            _ => {
                open.push(name);
                names.push(name);
            }
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
    }
    assert!(open.is_empty(), "{xml}");
    names
}

#[test]
fn xml_has_a_suite_for_each_topic() {
    let shown = printed(|out| junit(&report(), out).unwrap());
    let names = elements(&shown);
    let count = |name: &str| names.iter().filter(|known| **known == name).count();
    assert_eq!(count("testsuite"), 3);
    assert_eq!(count("testcase"), 5);
    assert_eq!(count("failure"), 1);
    assert_eq!(count("skipped"), 1);
    assert_eq!(count("property"), 1);
    let answer = "<property name=\"can it play here?\" value=\"yes\"/>";
    assert!(shown.contains(answer), "{shown}");
    assert!(
        shown.contains("&quot;Even&quot; &amp; &lt;more&gt;"),
        "{shown}"
    );
}

#[test]
fn rehearsal_reports_its_seed_and_score() {
    let rehearsal = Rehearsal {
        seed: 7,
        digest: "0123456789abcdef".to_owned(),
        absent: None,
    };
    let report = Report {
        rehearsal: Some(rehearsal),
        ..report()
    };
    let shown = printed(|out| text(&report, false, paragraph, out).unwrap());
    assert!(
        shown.contains("resilience 50 of 100; seed 7, plan 0123456789abcdef"),
        "{shown}"
    );
}

#[test]
fn rehearsal_without_the_player_has_no_score() {
    let rehearsal = Rehearsal {
        seed: 7,
        digest: "0123456789abcdef".to_owned(),
        absent: Some("the player never registered with this manager"),
    };
    let report = Report {
        rehearsal: Some(rehearsal),
        ..report()
    };
    let shown = printed(|out| text(&report, false, paragraph, out).unwrap());
    let told = "nothing was rehearsed: the player never registered with this manager\n";
    assert!(shown.contains(told), "{shown}");
    assert!(!shown.contains("resilience"), "{shown}");
    let shown = printed(|out| json(&report, 0, out).unwrap());
    let summary: Value = serde_json::from_str(shown.lines().last().unwrap()).unwrap();
    assert_eq!(summary["resilience"], Value::Null);
    assert_eq!(
        summary["because"],
        "the player never registered with this manager"
    );
}

#[test]
fn agent_that_can_play_is_graded_above_one_that_cannot() {
    let no = || CanPlay::No("it lost a match without playing it".to_owned());
    let yes = || CanPlay::WithDeviations(vec!["`accept`: found `yes`".to_owned()]);
    for (kept, can_play, score, letter) in [
        (100, CanPlay::Yes, 100, 'A'),
        (99, CanPlay::Yes, 99, 'B'),
        (75, yes(), 75, 'C'),
        (10, yes(), 50, 'D'),
        (0, CanPlay::Yes, 50, 'D'),
        (99, no(), 49, 'F'),
        (100, no(), 49, 'F'),
        (10, no(), 10, 'F'),
    ] {
        let mut report = report();
        report.findings = (0..100)
            .map(|number| {
                let verdict = if number < kept {
                    Verdict::Pass
                } else {
                    Verdict::Fail
                };
                finding(&format!("P-HTTP-{number}"), "HTTP", Level::Must, verdict)
            })
            .collect();
        report.can_play = can_play;
        let grade = report.grade();
        assert_eq!(
            (grade.score, grade.letter),
            (score, letter),
            "{kept} {:?}",
            report.can_play
        );
        assert_eq!(report.is_clean(), letter == 'A');
    }
}

#[test]
fn referee_or_manager_without_an_essential_step_cannot_play() {
    let no = |because: &str| CanPlay::No(because.to_owned());
    for (id, verdict, expected) in [
        (
            "R-REP-01",
            Verdict::Fail,
            no("it did not report a result to the manager"),
        ),
        (
            "R-INV-01",
            Verdict::Skipped,
            no("it did not invite both players of a match"),
        ),
        ("R-REG-01", Verdict::Skipped, CanPlay::Yes),
        ("M-REG-01", Verdict::Fail, no("it did not let players in")),
        ("M-END-01", Verdict::Pass, CanPlay::Yes),
    ] {
        let findings = [finding(id, "play", Level::Must, verdict)];
        assert_eq!(can_play(&findings), expected, "{id}");
    }
    let findings = [finding(
        "R-HTTP-05",
        "HTTP",
        Level::Should,
        Verdict::Deviation,
    )];
    assert_eq!(can_play(&findings).word(), "with deviations");
}

#[test]
fn first_line_is_the_answer_to_the_author() {
    let mut report = report();
    report.can_play = CanPlay::No("it did not register with the manager".to_owned());
    report.in_strict_league = Some(report.can_play.clone());
    report.registration = Some("it registered by `POST /register`".to_owned());
    let shown = printed(|out| text(&report, false, paragraph, out).unwrap());
    let told = "can it play here? no, because it did not register with the manager\n\
                in a strict league? no, because it did not register with the manager\n\
                player at http://localhost:8101/mcp: dialect v2, speech simple\n\
                it registered by `POST /register`\n";
    assert!(shown.starts_with(told), "{shown}");
    assert!(shown.contains("grade F (49 of 100)\n"), "{shown}");
    let many = (1..=12).map(|number| format!("deviation {number}"));
    report.can_play = CanPlay::with(many.collect());
    let shown = printed(|out| text(&report, false, paragraph, out).unwrap());
    let told = "can it play here? yes, with these deviations:\n  - deviation 1\n";
    assert!(shown.starts_with(told), "{shown}");
    let told = "\n  - deviation 10\n  and 2 more, which `--output json` lists\n";
    assert!(shown.contains(told), "{shown}");
    let shown = printed(|out| json(&report, 0, out).unwrap());
    let summary: Value = serde_json::from_str(shown.lines().last().unwrap()).unwrap();
    assert_eq!(
        summary["can_play"]["deviations"].as_array().unwrap().len(),
        12
    );
    assert_eq!(summary["registration"], "it registered by `POST /register`");
}

#[test]
fn same_seed_gives_the_same_plan() {
    assert_eq!(plan(7), plan(7));
    assert_ne!(plan(7), plan(8));
    let faults: usize = plan(7)
        .iter()
        .map(|planned| planned.invitation.len() + planned.choice.len() + planned.end.len())
        .sum();
    assert!(faults >= 20, "{faults}");
}
