//! Players that are killed and started again: a slow one is waited for, one whose port is still in
//! use is started once more, and one that ends at once is quoted.
//!
//! The process is a shell script that only starts and ends; the test answers in its place.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use league_check::fake_manager::FakeManager;
use league_check::launch::AgentProcess;
use league_check::listener::Listener;
use league_check::stage::Stage;
use league_check::verdict::Verdict;
use league_check::{AgentKind, Target};
use league_testkit::candidate_ports;
use tokio::net::TcpSocket;

use crate::failures::{play, register};
use crate::player::{fair, random, registration};

const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// How long the check waits for a first start; a restart may take longer.
const WAIT: Duration = Duration::from_secs(4);
/// How long the script may take to begin, on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the slow player takes to come back.
const SLOW: Duration = Duration::from_secs(6);

/// A folder of its own, which the script uses to know its second start from its first.
fn folder(name: &str) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    // It may be left over.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Listens on a port that no other socket gets while the player is away.
async fn listen() -> Listener {
    for port in candidate_ports(std::process::id()) {
        if let Ok(listener) = Listener::open((Ipv4Addr::LOCALHOST, port).into(), fair).await {
            return listener;
        }
    }
    panic!("no port is free")
}

/// A player that runs at its first start, and does this at every later one.
struct Player {
    stage: Arc<Stage>,
    /// Kept as long as the player answers.
    listener: Option<Listener>,
    folder: PathBuf,
}

impl Player {
    async fn begin(name: &str, later: &str) -> Self {
        let folder = folder(name);
        let script = format!(
            "cd {}; mkdir first 2>/dev/null && exec sleep 600; {later}",
            folder.display()
        );
        let words = ["sh", "-c", &script].map(str::to_owned);
        let process = AgentProcess::new(words.to_vec());
        process.start().unwrap();
        let started = async {
            while !folder.join("first").exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(START_TIMEOUT, started).await.unwrap();
        let listener = listen().await;
        let port = listener.address.port();
        let manager = FakeManager::open(ANYWHERE, AgentKind::Player, port, random());
        let manager = manager.await.unwrap();
        let stage = Stage::player(Target::local(port), manager, Some(process), WAIT);
        let player = Self {
            stage: Arc::new(stage),
            listener: Some(listener),
            folder,
        };
        player.register().await;
        assert!(player.stage.begin().await);
        player
    }

    async fn register(&self) {
        let url = self.stage.agent.to_string();
        let manager = self.stage.manager.as_ref().unwrap();
        register(manager, "register_player", registration(&url)).await;
    }

    /// Answers again after a pause, and registers.
    async fn come_back(&mut self, pause: Duration) {
        tokio::time::sleep(pause).await;
        let listener = Listener::open(self.stage.agent.address, fair);
        self.listener = Some(listener.await.unwrap());
        std::fs::write(self.folder.join("free"), "").unwrap();
        self.register().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn player_that_takes_long_to_come_back_is_waited_for() {
    for rule in ["P-BACK-01", "P-BACK-02"] {
        let mut player = Player::begin(rule, "exec sleep 600").await;
        player.listener = None;
        let stage = Arc::clone(&player.stage);
        let (finding, ()) = tokio::join!(play(&stage, rule), player.come_back(SLOW));
        assert_eq!(finding.verdict, Verdict::Pass, "{finding:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn player_whose_port_is_still_in_use_is_started_again() {
    let later = "test -e free && exec sleep 600; echo 'Address already in use' >&2; exit 98";
    let mut player = Player::begin("busy", later).await;
    player.listener = None;
    let port = TcpSocket::new_v4().unwrap();
    port.set_reuseaddr(true).unwrap();
    // The listener closes in its own time.
    let bound = async {
        while port.bind(player.stage.agent.address).is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(WAIT, bound).await.unwrap();
    let stage = Arc::clone(&player.stage);
    let back = async {
        tokio::time::sleep(WAIT / 2).await;
        drop(port);
        player.come_back(Duration::ZERO).await;
    };
    let (finding, ()) = tokio::join!(play(&stage, "P-BACK-02"), back);
    assert_eq!(finding.verdict, Verdict::Pass, "{finding:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn player_that_found_its_port_in_use_is_started_again_though_it_is_free_now() {
    let later = "mkdir second 2>/dev/null || exec sleep 600; \
                 echo 'OSError: [Errno 98] Address already in use' >&2; exit 1";
    let mut player = Player::begin("late", later).await;
    player.listener = None;
    let stage = Arc::clone(&player.stage);
    let back = async {
        while !player.folder.join("second").exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        player.come_back(Duration::from_secs(1)).await;
    };
    let (finding, ()) = tokio::join!(play(&stage, "P-BACK-02"), back);
    assert_eq!(finding.verdict, Verdict::Pass, "{finding:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn player_that_ends_after_its_restart_is_quoted() {
    for rule in ["P-BACK-01", "P-BACK-07", "P-BACK-08"] {
        let later = "echo 'No module named heron' >&2; exit 7";
        let mut player = Player::begin(rule, later).await;
        player.listener = None;
        let finding = play(&player.stage, rule).await;
        assert_eq!(finding.verdict, Verdict::Fail, "{finding:?}");
        let told = "after a restart: the command ended (code 7); it said: No module named heron";
        assert!(finding.found.starts_with(told), "{finding:?}");
        assert!(finding.took < 2 * WAIT, "{finding:?}");
    }
}
