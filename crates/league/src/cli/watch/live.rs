//! The table of a league on a terminal, drawn several times a second.

use std::io;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::runtime::Runtime;
use tokio::sync::watch::{self, Receiver};

use super::super::Answer;
use super::super::failure::{Failure, Kind};
use super::super::signal::Signals;
use super::GAP;
use super::scene::{Scene, Watcher};
use super::screen::draw;

/// Draws until somebody quits.
pub(super) fn watch(runtime: &Runtime, mut watcher: Watcher) -> Result<Answer, Failure> {
    let mut signals = {
        let _inside = runtime.enter();
        Signals::new()?
    };
    let (tell, seen) = watch::channel(watcher.scene.clone());
    runtime.spawn(async move {
        loop {
            tokio::select! {
                // The receiver learns of the end by the sender's.
                () = signals.interrupted() => return,
                () = watcher.look() => {}
            }
            tell.send_replace(watcher.scene.clone());
            tokio::select! {
                () = signals.interrupted() => return,
                () = tokio::time::sleep(GAP) => {}
            }
        }
    });
    let drawn = ratatui::try_init().and_then(|mut terminal| keep_drawing(&mut terminal, &seen));
    let restored = ratatui::try_restore();
    drawn.and(restored).map_err(|error| Failure {
        what: "could not draw on the terminal".to_owned(),
        cause: error.to_string(),
        hint: "print the table instead with `league watch --output json`".to_owned(),
        kind: Kind::World,
    })?;
    Ok(Answer::Yes)
}

fn keep_drawing(terminal: &mut DefaultTerminal, seen: &Receiver<Scene>) -> io::Result<()> {
    while seen.has_changed().is_ok() {
        let scene = seen.borrow().clone();
        terminal.draw(|frame| draw(frame, &scene))?;
        if event::poll(GAP)?
            && let Event::Key(key) = event::read()?
            && quits(key)
        {
            break;
        }
    }
    Ok(())
}

fn quits(key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press
        && match key.code {
            KeyCode::Char('q') | KeyCode::Esc => true,
            KeyCode::Char('c') => control,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wish_to_quit_quits() {
        let key = |code, modifiers| quits(KeyEvent::new(code, modifiers));
        assert!(key(KeyCode::Char('q'), KeyModifiers::NONE));
        assert!(key(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert!(!key(KeyCode::Char('c'), KeyModifiers::NONE));
        assert!(!key(KeyCode::Enter, KeyModifiers::NONE));
    }
}
