//! The thread in which an entrant lives: it is asked one question after the other, so that its state
//! needs no lock, and a slow or broken choice never stops the player.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use league_core::entrant::Entrant;
use league_core::player::{MatchRecord, Think};
use league_games::Dice;
use league_protocol::finding::harmless;
use serde_json::Value;

use crate::options::{MAX_WORDS, tell};
use crate::time_left;

/// The way to the thread.
pub(crate) struct Mind(Sender<Task>);

enum Task {
    Choose {
        think: Box<Think>,
        history: Vec<Arc<MatchRecord>>,
        answer: Sender<Value>,
    },
    Hear(Arc<MatchRecord>),
}

impl Mind {
    pub(crate) fn start(entrant: impl Entrant + Send + 'static, dice: Dice) -> io::Result<Self> {
        let (tasks, to_do) = channel();
        let name = thread::Builder::new().name("entrant".to_owned());
        name.spawn(move || think_on(entrant, dice, &to_do))?;
        Ok(Self(tasks))
    }

    /// Waits for a choice as long as the question allows; `None` if none came in time.
    pub(crate) fn choose(
        &self,
        think: Box<Think>,
        history: Vec<Arc<MatchRecord>>,
    ) -> Option<Value> {
        let (left, match_id) = (time_left(&think), think.match_id.clone());
        let (answer, chosen) = channel();
        let task = Task::Choose {
            think,
            history,
            answer,
        };
        self.0.send(task).ok()?;
        let choice = chosen.recv_timeout(left).ok();
        if choice.is_none() {
            let seconds = left.as_secs();
            tell(&format!(
                "{match_id}: `choose` took more than {seconds} s, so the first legal move is \
                 played; make it faster"
            ));
        }
        choice
    }

    pub(crate) fn hear(&self, record: &Arc<MatchRecord>) {
        // The thread ends with the process only.
        let _ = self.0.send(Task::Hear(Arc::clone(record)));
    }
}

fn think_on(mut entrant: impl Entrant, mut dice: Dice, tasks: &Receiver<Task>) {
    for task in tasks {
        match task {
            Task::Hear(record) => {
                // The panic has been printed.
                let _ = catch_unwind(AssertUnwindSafe(|| entrant.hear(&record)));
            }
            Task::Choose { think, .. } if time_left(&think).is_zero() => {}
            Task::Choose {
                think,
                history,
                answer,
            } => {
                let chosen = catch_unwind(AssertUnwindSafe(|| {
                    entrant.choose(&think, &history, &mut dice)
                }));
                let problem = match chosen {
                    Ok(Ok(choice)) if think.options.contains(&choice) => {
                        // The question may have been given up.
                        let _ = answer.send(choice);
                        continue;
                    }
                    Ok(Ok(choice)) => format!("the choice was {choice}, which is not legal"),
                    Ok(Err(error)) => format!("there was no choice: {error}"),
                    Err(_) => "the choice panicked".to_owned(),
                };
                let problem = harmless(&problem, MAX_WORDS);
                let _ = writeln!(
                    io::stderr(),
                    "{}: {problem}; a random legal move is played",
                    think.match_id
                );
                if let Some(choice) = dice.pick(&think.options) {
                    let _ = answer.send(choice.clone());
                }
            }
        }
    }
}
