//! People take seats on the page: they join with a code, choose their moves, are late, come back.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::http::{Answer, request_with};
use crate::end_to_end::process::{Process, league};

const GAME: &str = "connect_four";

/// A league of a person and a strategy, about to begin.
struct Room {
    ground: Ground,
    process: Process,
    /// Where its manager answers.
    at: String,
    code: String,
    link: String,
}

/// A turn as the page shows it.
#[derive(Debug)]
struct Turn {
    match_id: String,
    number: u32,
    choices: Vec<Value>,
}

impl Room {
    fn open(more: &[&str]) -> Self {
        let ground = Ground::new();
        let own = [
            "--players",
            "2",
            "--people",
            "1",
            "--referees",
            "1",
            "--game",
            GAME,
        ];
        let named = [
            "--league-id",
            LEAGUE,
            "--ports",
            "auto",
            "--strategies",
            "random",
        ];
        let process = ground.start("run", &[&own[..], &named, more].concat());
        Self::of(ground, process)
    }

    fn of(ground: Ground, mut process: Process) -> Self {
        let opening = process.event("event", "league");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (at, code) = (text(&opening["manager"]), text(&opening["people"]["code"]));
        let link = text(&opening["people"]["link"]);
        assert!(link.contains(&format!("/play#code={code}")), "{link}");
        Self {
            ground,
            process,
            at,
            code,
            link,
        }
    }

    fn post(&self, path: &str, secret: Option<&str>, body: &Value) -> Answer {
        let bearer = secret.map(|secret| format!("Bearer {secret}"));
        let kind = [("content-type", "application/json")];
        let shown = bearer
            .iter()
            .map(|bearer| ("authorization", bearer.as_str()));
        let headers: Vec<_> = kind.into_iter().chain(shown).collect();
        let body = body.to_string();
        request_with(&self.at, "POST", path, &headers, body.as_bytes())
    }

    fn join(&self) -> String {
        let joined = self.post(
            "/play/join",
            None,
            &json!({"name": "Ada", "code": self.code}),
        );
        assert_eq!(joined.status, 200, "{joined:?}");
        joined.json()["seat"].as_str().unwrap().to_owned()
    }

    /// Asks for changes until the page shows what is looked for.
    fn shows<T>(&self, secret: &str, look: impl Fn(&Value) -> Option<T>) -> T {
        let mut seen = json!(-1);
        loop {
            let told = self.post("/play/turn", Some(secret), &json!({"seen": seen}));
            assert_eq!(told.status, 200, "{told:?}");
            let told = told.json();
            if let Some(found) = look(&told) {
                return found;
            }
            assert_eq!(told["over"], false, "{told}");
            seen = told["version"].clone();
        }
    }

    /// The next turn, or `None` when the league is over.
    fn turn(&self, secret: &str) -> Option<Turn> {
        self.shows(secret, |told| {
            if told["over"] == true {
                return Some(None);
            }
            turn_in(told["html"].as_str().unwrap()).map(Some)
        })
    }

    fn make(&self, secret: &str, turn: &Turn, choice: &Value) -> Answer {
        let body = json!({"match_id": turn.match_id, "number": turn.number, "choice": choice});
        self.post("/play/move", Some(secret), &body)
    }

    /// Plays by the first legal move until the league is over.
    fn play(&self, secret: &str) {
        while let Some(turn) = self.turn(secret) {
            let made = self.make(secret, &turn, &turn.choices[0]);
            // The strategy may have answered before the page is asked again.
            assert!(matches!(made.status, 200 | 409), "{made:?}");
        }
    }
}

/// The values of an attribute in a page.
fn attributes<'h>(html: &'h str, name: &str) -> Vec<&'h str> {
    let mark = format!(" {name}=\"");
    let rest = html.split(mark.as_str()).skip(1);
    rest.filter_map(|rest| rest.split('"').next()).collect()
}

fn turn_in(html: &str) -> Option<Turn> {
    let choices = attributes(html, "data-choice");
    Some(Turn {
        match_id: (*attributes(html, "data-match").first()?).to_owned(),
        number: attributes(html, "data-number").first()?.parse().unwrap(),
        choices: choices
            .iter()
            .map(|choice| serde_json::from_str(choice).unwrap())
            .collect(),
    })
}

#[test]
fn league_of_one_person_ends_when_the_person_has_seen_the_end() {
    let ground = Ground::new();
    let own = ["--game", GAME, "--against", "random", "--name", "Ada Ö."];
    let process = ground.start("play", &own);
    let mut room = Room::of(ground, process);
    let link = room.link.clone();
    assert!(link.ends_with("&name=Ada%20%C3%96%2E"), "{link}");
    let secret = room.join();
    room.play(&secret);
    room.process.event("event", "standings");
    let ended = room.process.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(room.ground.verified()["results"], 1);
}

#[test]
fn interrupted_play_says_how_to_go_on() {
    let ground = Ground::new();
    let process = ground.start("play", &["--game", GAME]);
    let room = Room::of(ground, process);
    let secret = room.join();
    room.turn(&secret).unwrap();
    room.process.signal(Signal::INT);
    let ended = room.process.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.out.contains("league run --resume"), "{ended:?}");
}

#[test]
fn person_joins_with_the_code_and_plays_the_league() {
    let mut room = Room::open(&[]);
    let secret = room.join();
    let full = room.post(
        "/play/join",
        None,
        &json!({"name": "Bob", "code": room.code}),
    );
    assert_eq!(full.status, 409, "{full:?}");
    assert_eq!(full.json()["error"], "all 1 seats are taken");
    let first = room.turn(&secret).unwrap();
    assert_eq!(first.choices, (0..7).map(Value::from).collect::<Vec<_>>());
    let illegal = room.make(&secret, &first, &json!(9));
    assert_eq!(
        (illegal.status, &illegal.json()["code"]),
        (422, &json!("E004"))
    );
    let taken = room.make(&secret, &first, &json!(3));
    assert_eq!(taken.status, 200, "{taken:?}");
    let doubled = room.make(&secret, &first, &json!(3));
    assert_eq!(
        (doubled.status, &doubled.json()["code"]),
        (409, &json!("E007"))
    );
    room.play(&secret);
    let summary = room.process.event("event", "standings");
    room.process.event("event", "page");
    // The person sees how it ended until the organiser ends the program.
    let seen = room.post("/play/turn", Some(&secret), &json!({"seen": -1}));
    assert_eq!((seen.status, &seen.json()["over"]), (200, &json!(true)));
    let html = seen.json()["html"].as_str().unwrap().to_owned();
    assert!(html.contains("R1M1 against"), "{html}");
    assert!(html.contains("<figure>"), "the last position: {html}");
    let ended = room.process.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(summary["people"], json!(["P02"]), "{summary}");
    assert_eq!(summary["deviations"], json!({}), "{summary}");
    let registered = room.ground.facts("player_registered");
    let human: Vec<_> = registered
        .iter()
        .map(|fact| &fact["meta"]["human"])
        .collect();
    assert_eq!(human, [&Value::Null, &json!(true)]);
    let results = room.ground.results();
    assert_ne!(results["R1M1"]["status"], "TECHNICAL_LOSS", "{results:?}");
    room.ground.verified();
}

#[test]
fn stranger_gets_no_seat_and_makes_no_move() {
    let mut room = Room::open(&[]);
    let join = json!({"name": "Eve", "code": "AAAA-AAAA"});
    let right = json!({"name": "Eve", "code": room.code}).to_string();
    let kind = ("content-type", "application/json");
    let post = |path: &str, headers: &[(&str, &str)], body: &str| {
        request_with(&room.at, "POST", path, headers, body.as_bytes()).status
    };
    assert_eq!(room.post("/play/join", None, &join).status, 403);
    assert_eq!(
        room.post("/play/join", None, &json!({"name": "Eve"}))
            .status,
        400
    );
    let nameless = json!({"name": " ", "code": room.code});
    assert_eq!(room.post("/play/join", None, &nameless).status, 400);
    let foreign = [kind, ("origin", "http://elsewhere.example")];
    assert_eq!(post("/play/join", &foreign, &right), 403);
    let host = [kind, ("host", "elsewhere.example")];
    assert_eq!(post("/play/join", &host, &right), 403);
    assert_eq!(
        post("/play/join", &[("content-type", "text/plain")], &right),
        415
    );
    assert_eq!(post("/play/join", &[kind], &"x".repeat(300_000)), 413);
    for path in ["/play/turn", "/play/move", "/play/leave"] {
        for secret in [None, Some("tok-seat-00"), Some(room.code.as_str())] {
            assert_eq!(room.post(path, secret, &json!({})).status, 401, "{path}");
        }
    }
    // A slow machine gets some tries back meanwhile; the tests of the limit count them.
    let mut tries = (0..1_000).map(|_| room.post("/play/join", None, &join));
    let limited = tries.find(|answer| answer.status != 403).unwrap();
    assert_eq!(limited.status, 429, "{limited:?}");
    assert_eq!(room.ground.facts("player_registered").len(), 1);
    room.process.kill();
}

#[test]
fn strategy_moves_for_a_person_who_is_late() {
    let mut room = Room::open(&["--move-time", "2s"]);
    let secret = room.join();
    let turn = room.turn(&secret).unwrap();
    room.shows(&secret, |told| {
        let html = told["html"].as_str().unwrap();
        html.contains("Your time was over: the strategy random moved for you")
            .then_some(())
    });
    let late = room.make(&secret, &turn, &turn.choices[0]);
    assert_eq!((late.status, &late.json()["code"]), (409, &json!("E007")));
    // A person who leaves does not keep the others waiting.
    let left = room.post("/play/leave", Some(&secret), &json!({})).json();
    assert!(
        left["html"].as_str().unwrap().contains("You left the seat"),
        "{left}"
    );
    let standings = room.process.event("event", "standings");
    assert_eq!(standings["technical_losses"], json!({}), "{standings}");
}

#[test]
fn person_keeps_the_seat_when_the_league_is_interrupted() {
    let room = Room::open(&[]);
    let secret = room.join();
    let turn = room.turn(&secret).unwrap();
    assert_eq!(room.make(&secret, &turn, &turn.choices[0]).status, 200);
    let Room {
        ground,
        process,
        code,
        ..
    } = room;
    process.signal(Signal::INT);
    assert_eq!(process.end().code, Some(130));
    let again = ground.start("run", &["--resume", "--league-id", LEAGUE]);
    let mut room = Room::of(ground, again);
    assert_eq!(room.code, code);
    room.play(&secret);
    room.process.event("event", "page");
    let ended = room.process.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let results = room.ground.results();
    assert_ne!(results["R1M1"]["status"], "TECHNICAL_LOSS", "{results:?}");
    room.ground.verified();
}

#[test]
fn person_joins_the_league_of_a_manager() {
    let ground = Ground::new();
    let seats = [
        "--players",
        "2",
        "--people",
        "1",
        "--referees",
        "1",
        "--game",
        "tic_tac_toe",
    ];
    let named = ["--league-id", LEAGUE, "--exit-when-done"];
    let mut process = ground.start("manager", &[&["--port", "0"], &seats[..], &named].concat());
    let greeting = process.event("event", "manager");
    let link = greeting["people"]["link"].as_str().unwrap();
    let room = Room {
        at: greeting["endpoint"].as_str().unwrap().to_owned(),
        code: link.split_once("#code=").unwrap().1.to_owned(),
        link: link.to_owned(),
        ground,
        process,
    };
    let done = ["--exit-when-done"];
    let referee = room.ground.referee(1, &room.at, &done);
    let player = room.ground.player(1, &room.at, &done);
    room.play(&room.join());
    for process in [room.process, referee.process, player.process] {
        let ended = process.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    room.ground.verified();
}

#[test]
fn more_people_than_players_are_wrong_use() {
    let ground = Ground::new();
    let seats = ["--players", "2", "--people", "3"];
    let ended = league([&["run", "--root", ground.root()], &seats[..]].concat());
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let cause = "3 people do not fit on 2 seats";
    assert!(ended.errors.contains(cause), "{ended:?}");
}
