//! Rounds in which the same league is played beside a flood and in a flood, in turn.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::bystander;
use crate::honest;
use crate::league::League;
use crate::peers::Peers;
use crate::spread::Spread;

/// A flood may at most double the time of honest calls.
const MAX_RATIO: f64 = 2.0;
/// How long peers gather before anything is measured.
const GATHERING: Duration = Duration::from_secs(2);

/// How the measuring is called.
#[derive(Parser)]
#[command(name = "flood", about = "What a flood costs honest agents")]
pub(crate) struct Options {
    /// How many peers flood, and how many only hold a connection.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) peers: usize,
    /// How many rounds there are; in each of them the league is played twice.
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    /// How many seconds are measured each time.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// How many players the league has.
    #[arg(long, default_value_t = 64)]
    pub(crate) players: u32,
    /// How long a flooding peer pauses between two calls, in milliseconds.
    #[arg(long, default_value_t = 100)]
    pause: u64,
}

/// What was measured beside the flood and in it.
pub(crate) struct Round {
    beside: Figures,
    flooded: Figures,
}

/// What was measured in one league.
struct Figures {
    /// Milliseconds of honest calls.
    median: f64,
    p99: f64,
    /// Matches that were played in the time.
    matches: f64,
    technical_losses: u64,
    /// Calls of flooding peers that were answered, for each second.
    flood: f64,
    /// Processor time of the league, for each second.
    cpu: f64,
}

/// Plays the leagues.
///
/// # Errors
///
/// A league may not start, or an honest call find no answer.
pub(crate) async fn measure(program: &Path, options: &Options) -> io::Result<Vec<Round>> {
    let bystander = bystander::start().await?;
    let mut rounds = Vec::new();
    for round in 0..options.rounds {
        println!("round {} of {}…", round + 1, options.rounds);
        let beside = play(program, options, Some(bystander));
        // Which comes first is another in every round.
        let (beside, flooded) = if round % 2 == 0 {
            let beside = beside.await?;
            (beside, play(program, options, None).await?)
        } else {
            let flooded = play(program, options, None).await?;
            (beside.await?, flooded)
        };
        rounds.push(Round { beside, flooded });
    }
    Ok(rounds)
}

async fn play(
    program: &Path,
    options: &Options,
    bystander: Option<SocketAddr>,
) -> io::Result<Figures> {
    let players = options.players.to_string();
    let arguments = ["--players", &players, "--referees", "2", "--pace", "100ms"];
    let root = tempfile::tempdir()?;
    let mut league = League::start(program, root.path(), &arguments).await?;
    // From here on all agents are in.
    league.hear(is_match).await?;
    let agents = agents(root.path())?;
    let targets = bystander.map_or_else(|| agents.to_vec(), |server| vec![server]);
    let pause = Duration::from_millis(options.pause);
    let peers = Peers::gather(options.peers, &targets, pause);
    tokio::time::sleep(GATHERING).await;
    let (answered, spent) = (peers.answered(), league.spent()?);
    let lasting = Duration::from_secs(options.seconds);
    let (took, (matches, technical_losses)) = tokio::try_join!(
        honest::call_all(agents, lasting),
        follow(&mut league, lasting)
    )?;
    let at = |part: f64| took[((took.len() - 1) as f64 * part) as usize];
    let seconds = lasting.as_secs_f64();
    let figures = Figures {
        median: at(0.5),
        p99: at(0.99),
        matches: matches as f64,
        technical_losses,
        flood: (peers.answered() - answered) as f64 / seconds,
        cpu: (league.spent()? - spent).as_secs_f64() / seconds,
    };
    drop(peers);
    league.end().await?;
    Ok(figures)
}

fn is_match(event: &Value) -> bool {
    event["event"] == "match"
}

/// Counts the matches of some time, and the technical losses among them.
async fn follow(league: &mut League, lasting: Duration) -> io::Result<(u64, u64)> {
    let end = Instant::now() + lasting;
    let (mut matches, mut lost) = (0, 0);
    while let Ok(event) = timeout_at(end, league.hear(is_match)).await {
        let event = event?;
        matches += 1;
        lost += u64::from(event["status"] == "TECHNICAL_LOSS");
        if event["number"].as_u64() == Some(league.matches) {
            let what = "the league ended while it was measured: give it more `--players`";
            return Err(io::Error::other(what));
        }
    }
    Ok((matches, lost))
}

/// The addresses of the manager, a referee and a player.
fn agents(root: &Path) -> io::Result<[SocketAddr; 3]> {
    let leagues = fs::read_dir(root.join("data/leagues"))?.next();
    let league = leagues.ok_or(io::ErrorKind::NotFound)??.path();
    let seats: Value = serde_json::from_slice(&fs::read(league.join("run.json"))?)?;
    let ports = &seats["ports"];
    let address = |port: &Value| -> io::Result<SocketAddr> {
        let port = port.as_u64().and_then(|port| u16::try_from(port).ok());
        let port = port.ok_or_else(|| io::Error::other("an agent without a port of its own"))?;
        Ok(SocketAddr::from(([127, 0, 0, 1], port)))
    };
    let [manager, referee, player] = [
        &ports["manager"],
        &ports["referees"][0],
        &ports["players"][0],
    ]
    .map(address);
    Ok([manager?, referee?, player?])
}

/// Prints the figures; gives whether honest agents were spared.
pub(crate) fn tell(rounds: &[Round], options: &Options) -> bool {
    println!(
        "\nleague of {} players; {} peers flood it and {} only hold a connection\n{:<16}{:<22}\
         {:<22}{:<16}{:<14}{:<14}",
        options.players,
        options.peers,
        options.peers,
        "",
        "median ms",
        "p99 ms",
        "matches",
        "flood calls/s",
        "CPU s/s",
    );
    for (name, of) in [
        (
            "beside it",
            (|round| &round.beside) as fn(&Round) -> &Figures,
        ),
        ("in the flood", |round| &round.flooded),
    ] {
        let spread = |figure: fn(&Figures) -> f64| {
            let figures = rounds.iter().map(|round| figure(of(round)));
            Spread::of(figures)
        };
        println!(
            "{:<16}{:<22}{:<22}{:<16}{:<14}{:<14}",
            name,
            spread(|figures| figures.median).shown(2),
            spread(|figures| figures.p99).shown(1),
            spread(|figures| figures.matches).shown(0),
            spread(|figures| figures.flood).median.round(),
            format!("{:.2}", spread(|figures| figures.cpu).median),
        );
    }
    let ratios = rounds
        .iter()
        .map(|round| round.flooded.p99 / round.beside.p99);
    let ratio = Spread::of(ratios);
    let lost: u64 = rounds
        .iter()
        .map(|round| round.flooded.technical_losses)
        .sum();
    println!(
        "\np99 in the flood against beside it: {} (at most {MAX_RATIO})\ntechnical losses in the \
         flood: {lost} (none)\nmedian [least-most] of {} rounds",
        ratio.shown(2),
        rounds.len(),
    );
    ratio.median < MAX_RATIO && lost == 0
}
