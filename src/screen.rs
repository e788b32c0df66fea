//! The whole terminal, for as long as a full-screen view has it.
//!
//! Beside the printer the only writer to standard output, and never at the same time: while a screen is open nothing
//! is printed. Whatever ends the view, a panic included, the terminal is given back as it was.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use iostall_report::top::{Key, TopState, draw};
use ratatui::DefaultTerminal;

use crate::failure::hinted;

/// See the module.
pub(crate) struct Screen {
    /// There until this value goes.
    terminal: Option<DefaultTerminal>,
    keys: Receiver<io::Result<Key>>,
}

impl Screen {
    /// Takes the terminal.
    pub(crate) fn open() -> anyhow::Result<Self> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            let error = anyhow::anyhow!("a full-screen view needs a terminal");
            return Err(hinted(error, "--once prints one interval and ends, also as --json"));
        }
        // Also has a panic give the terminal back before it says what happened.
        let terminal = ratatui::try_init().context("cannot take the terminal")?;
        // On a thread of its own: reading from a terminal that is hung up comes back neither with a key nor with an error.
        let (sender, keys) = channel();
        let reading = move || while sender.send(next_key()).is_ok() {};
        thread::Builder::new().name("iostall-keys".into()).spawn(reading).context("cannot read keys")?;
        Ok(Self { terminal: Some(terminal), keys })
    }

    /// Shows `state`.
    pub(crate) fn show(&mut self, state: &TopState) -> anyhow::Result<()> {
        if let Some(terminal) = &mut self.terminal {
            terminal.draw(|frame| draw(state, frame)).context("cannot write to the terminal")?;
        }
        Ok(())
    }

    /// The next key, if one is pressed within `wait`.
    pub(crate) fn key(&self, wait: Duration) -> anyhow::Result<Option<Key>> {
        match self.keys.recv_timeout(wait) {
            Ok(key) => Ok(Some(key.context("cannot read from the terminal")?)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("nobody reads keys any more"),
        }
    }

    /// Whether the terminal was hung up. One that was is a terminal no more.
    #[expect(clippy::unused_self, reason = "only whoever has the screen may ask")]
    pub(crate) fn is_gone(&self) -> bool {
        !io::stdout().is_terminal()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = ratatui::try_restore();
        if let Some(terminal) = self.terminal.take().filter(|_| self.is_gone()) {
            // Its own end would complain on standard error that the terminal is gone, which is gone too, and panic over that.
            std::mem::forget(terminal);
        }
    }
}

/// Waits for a key.
fn next_key() -> io::Result<Key> {
    loop {
        if let Event::Key(pressed) = event::read()?
            && pressed.kind != KeyEventKind::Release
            && let Some(key) = key(pressed)
        {
            return Ok(key);
        }
    }
}

fn key(pressed: KeyEvent) -> Option<Key> {
    if pressed.modifiers.contains(KeyModifiers::CONTROL) {
        return (pressed.code == KeyCode::Char('c')).then_some(Key::Interrupt);
    }
    if pressed.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    Some(match pressed.code {
        KeyCode::Char(character) => Key::Char(character),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Tab => Key::Tab,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}
