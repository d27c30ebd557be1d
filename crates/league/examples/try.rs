use league::arena::*;
use league::*;
use league_core::league::*;
use std::time::*;
#[tokio::main]
async fn main() {
    let n: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let t = Instant::now();
    let shared = agent::house::Shared {
        root: root::Root::new("/tmp/try"),
        client: Default::default(),
        allowed: Default::default(),
        chance: chance::Chance::new(Some(1)).unwrap(),
        deviations: Default::default(),
    };
    let mut rules = LeagueRules::new(
        league_protocol::id::LeagueId::new("l1").unwrap(),
        league_protocol::id::GameType::new("even_odd").unwrap(),
    );
    rules.start_when = Some((n, 2));
    let plan = Plan {
        rules,
        referees: (1..=2)
            .map(|i| RefereeSeat {
                id: league_protocol::id::RefereeId::numbered(i),
                name: format!("Ref {i}"),
                max_concurrent: 50,
            })
            .collect(),
        players: (1..=n)
            .map(|i| PlayerSeat {
                id: league_protocol::id::PlayerId::numbered(i),
                name: format!("Player {i}"),
                manner: agent::player::Manner {
                    strategy: strategy::all()[0],
                    pace: Duration::ZERO,
                },
            })
            .collect(),
        ports: Ports::Auto,
        bind: "127.0.0.1".parse().unwrap(),
        host: "localhost".into(),
    };
    let mut arena = Arena::open(&shared, plan).await.unwrap();
    let mut results = 0;
    while let Some((_at, event)) = arena.news.recv().await {
        match event {
            Event::ResultRecorded {
                result, match_id, ..
            } => {
                results += 1;
                if n < 10 {
                    println!("{match_id} {:?} {}", result.status, result.reason)
                }
            }
            Event::LeagueCompleted { .. } => break,
            Event::RoundClosed { round, .. } => println!("round {round} {:?}", t.elapsed()),
            _ => {}
        }
    }
    println!("{results} matches {:?}", t.elapsed());
    arena.quieten().await;
    println!("quiet {:?}", t.elapsed());
    println!("{:?}", shared.deviations.counts());
    arena.close().await.unwrap();
    println!("closed {:?}", t.elapsed());
}
