//! The whole terminal, while a full-screen view uses it.
//!
//! Besides the printer the only writer to standard output, and never at the same time: nothing is printed
//! while a screen is open. Whatever ends the view, including a panic, the terminal is restored.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use iostall_measure::clock::receive;
use iostall_report::top::{Key, TopState, draw};
use ratatui::DefaultTerminal;

use crate::failure::hinted;

pub(crate) struct Screen {
    /// Present until this value is dropped.
    terminal: Option<DefaultTerminal>,
    keys: Receiver<io::Result<Key>>,
}

impl Screen {
    pub(crate) fn open() -> anyhow::Result<Self> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            let error = anyhow::anyhow!("a full-screen view needs a terminal");
            return Err(hinted(error, "--once prints one interval and ends, also as --json"));
        }
        // Also restores the terminal before a panic message.
        let terminal = ratatui::try_init().context("cannot take the terminal")?;
        // On a separate thread, because reading from a lost terminal returns neither a key nor an error.
        let (sender, keys) = channel();
        let reading = move || while sender.send(next_key()).is_ok() {};
        thread::Builder::new().name("iostall-keys".into()).spawn(reading).context("cannot read keys")?;
        Ok(Self { terminal: Some(terminal), keys })
    }

    pub(crate) fn show(&mut self, state: &TopState) -> anyhow::Result<()> {
        if let Some(terminal) = &mut self.terminal {
            terminal.draw(|frame| draw(state, frame)).context("cannot write to the terminal")?;
        }
        Ok(())
    }

    pub(crate) fn key(&self, wait: Duration) -> anyhow::Result<Option<Key>> {
        match receive(&self.keys, wait) {
            Ok(key) => Ok(Some(key.context("cannot read from the terminal")?)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the keyboard is no longer being read"),
        }
    }

    /// Whether the terminal was lost; it is then no longer a terminal.
    #[expect(clippy::unused_self, reason = "only whoever has the screen may ask")]
    pub(crate) fn is_gone(&self) -> bool {
        !io::stdout().is_terminal()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A lost terminal needs no restoring.
        let _ = ratatui::try_restore();
        if let Some(terminal) = self.terminal.take().filter(|_| self.is_gone()) {
            // Dropping it would report on standard error that the terminal is gone, and panic because that is
            // gone too.
            std::mem::forget(terminal);
        }
    }
}

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
