//! The connection to the server is cut while the manager writes, in every phase of a write.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::field::{Field, Store};

/// What stands in the statement that stores lines, and in no other message to the server.
const MARK: &[u8] = b"\"fact\":";

/// The end of a statement with its parameters: a message `Sync`.
const END: &[u8] = b"S\0\0\0\x04";

/// Where a write is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The server sees nothing of it.
    Before,
    /// The server sees the first half.
    Within,
    /// The server sees all of it, and its answer has no way back.
    Sent,
    /// The server has done it and answered; the answer is dropped.
    Answered,
}

const PHASES: [Phase; 4] = [Phase::Before, Phase::Within, Phase::Sent, Phase::Answered];

/// Cuts every second write, in each phase in turn, so that each is tried again.
#[derive(Default)]
struct Plan {
    writes: AtomicU64,
    cuts: [AtomicU64; 4],
}

impl Plan {
    fn next(&self) -> Option<Phase> {
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        // The first line is not cut: there is no league before it.
        let place = (number % 2 == 1).then_some((number / 2) as usize % PHASES.len())?;
        self.cuts[place].fetch_add(1, Ordering::Relaxed);
        Some(PHASES[place])
    }
}

/// Passes connections on to a port; gives its own.
fn proxy(to: u16, plan: Arc<Plan>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
            let link = Link {
                client,
                server,
                is_deaf: AtomicBool::new(false),
                in_turn: Mutex::new(()),
            };
            let (link, plan) = (Arc::new(link), Arc::clone(&plan));
            let back = Arc::clone(&link);
            thread::spawn(move || back.answers());
            thread::spawn(move || link.questions(&plan));
        }
    });
    port
}

/// A connection that is passed on.
struct Link {
    client: TcpStream,
    server: TcpStream,
    /// Whether the next answer is dropped.
    is_deaf: AtomicBool,
    /// Held while an answer is weighed, so that no later one passes.
    in_turn: Mutex<()>,
}

impl Link {
    fn questions(&self, plan: &Plan) {
        let (mut bytes, mut sent) = (vec![0; 1 << 16], Vec::new());
        while let Ok(length @ 1..) = (&self.client).read(&mut bytes) {
            sent.extend_from_slice(&bytes[..length]);
            let is_write = sent.windows(MARK.len()).any(|part| part == MARK);
            if is_write && !sent.ends_with(END) {
                continue;
            }
            let sent = std::mem::take(&mut sent);
            let sent = sent.as_slice();
            let phase = is_write.then(|| plan.next()).flatten();
            let (whole, is_cut) = match phase {
                None => (sent, false),
                Some(Phase::Answered) => {
                    let _turn = self.in_turn.lock().unwrap();
                    self.is_deaf.store(true, Ordering::Relaxed);
                    (sent, false)
                }
                Some(Phase::Sent) => (sent, true),
                Some(Phase::Within) => (&sent[..sent.len() / 2], true),
                Some(Phase::Before) => (&sent[..0], true),
            };
            if (&self.server).write_all(whole).is_err() || is_cut {
                break;
            }
        }
        self.cut();
    }

    fn answers(&self) {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(length @ 1..) = (&self.server).read(&mut bytes) {
            let _turn = self.in_turn.lock().unwrap();
            let is_dropped = self.is_deaf.load(Ordering::Relaxed);
            if is_dropped || (&self.client).write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        self.cut();
    }

    fn cut(&self) {
        for stream in [&self.client, &self.server] {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[test]
fn write_that_is_cut_off_in_any_phase_is_stored_once() {
    let store = Store::shared();
    let (before, database) = store.url.rsplit_once('/').unwrap();
    let (user, port) = before.rsplit_once(':').unwrap();
    let plan = Arc::new(Plan::default());
    let own = proxy(port.parse().unwrap(), Arc::clone(&plan));
    let through = Store {
        url: format!("{user}:{own}/{database}"),
    };
    let mut field = Field::new(through, 1);
    let mut manager = field.start_in_charge(0);
    field.start_agents();
    manager.event("state", "completed");
    field.see_all_running();
    field.store = store;
    field.store.wait_for_the_end();
    field.store.see_whole(&field);
    let lines = field
        .store
        .ask("select line from league.events where agent = 'manager' order by sequence");
    assert_eq!(
        lines.trim(),
        field.copy_at(0).trim(),
        "the copy has the same lines"
    );
    let cuts = plan
        .cuts
        .each_ref()
        .map(|cuts| cuts.load(Ordering::Relaxed));
    println!("cut writes: {cuts:?} {PHASES:?}");
    assert!(cuts.iter().all(|cuts| *cuts > 0), "{cuts:?}");
}
