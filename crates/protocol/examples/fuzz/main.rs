//! Reads many frames from the command line: `cargo xtask campaign fuzz` calls it.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the library is pure; here a person asks for figures and reads them"
)]

#[path = "../../tests/all/documents.rs"]
mod documents;
mod frames;

use std::cell::Cell;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use frames::{Frames, read_in_every_way};

const USAGE: &str = "fuzz [--frames N] [--seed S] [--frame K]";
/// How many frames a thread takes at once.
const PORTION: u64 = 10_000;

thread_local! {
    /// The frame that this thread reads.
    static FRAME: Cell<u64> = const { Cell::new(0) };
}

/// What to read.
struct Plan {
    frames: u64,
    seed: u64,
    /// Reads this frame and no other.
    frame: Option<u64>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(plan) = read(&arguments) else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    let usual = std::panic::take_hook();
    let seed = plan.seed;
    // A panic ends the process here, so the way to see it again is printed first.
    std::panic::set_hook(Box::new(move |panic| {
        let frame = FRAME.get();
        println!("again: cargo xtask campaign fuzz --seed {seed} --frame {frame}");
        usual(panic);
    }));
    let start = Instant::now();
    let frames = Frames::new();
    if let Some(number) = plan.frame {
        println!("{:?}", String::from_utf8_lossy(&frames.frame(seed, number)));
        read_frame(&frames, seed, number);
        return ExitCode::SUCCESS;
    }
    let bytes = read_all(&frames, &plan);
    let seconds = start.elapsed().as_secs_f64();
    let rate = plan.frames as f64 / seconds.max(0.001);
    println!(
        "{} frames of {bytes} bytes, each read in every era, dialect and strictness: 0 panics",
        plan.frames
    );
    println!("{seconds:.1} s, {rate:.0} frames a second");
    ExitCode::SUCCESS
}

/// Reads all frames on all cores; returns their size.
fn read_all(frames: &Frames, plan: &Plan) -> u64 {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (next, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(PORTION, Ordering::Relaxed);
                    let portion = from..plan.frames.min(from.saturating_add(PORTION));
                    if portion.is_empty() {
                        return;
                    }
                    let size = portion.map(|number| read_frame(frames, plan.seed, number));
                    bytes.fetch_add(size.sum(), Ordering::Relaxed);
                }
            });
        }
    });
    bytes.into_inner()
}

fn read_frame(frames: &Frames, seed: u64, number: u64) -> u64 {
    FRAME.set(number);
    let frame = frames.frame(seed, number);
    read_in_every_way(&frame);
    frame.len() as u64
}

fn read(arguments: &[String]) -> Option<Plan> {
    let mut plan = Plan {
        frames: 1_000_000,
        seed: 1,
        frame: None,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next()?.parse().ok()?;
        match word.as_str() {
            "--frames" => plan.frames = value,
            "--seed" => plan.seed = value,
            "--frame" => plan.frame = Some(value),
            _ => return None,
        }
    }
    Some(plan)
}
