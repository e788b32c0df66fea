//! The whole terminal, for as long as a full-screen view has it.
//!
//! Beside the printer the only writer to standard output, and never at the same time: while a screen is open nothing
//! is printed. Whatever ends the view, a panic included, the terminal is given back as it was.

use std::io::{self, IsTerminal};
use std::time::Duration;

use anyhow::Context;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use iostall_report::top::{Key, TopState, draw};
use ratatui::DefaultTerminal;

use crate::failure::hinted;

/// See the module.
pub(crate) struct Screen {
    terminal: DefaultTerminal,
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
        Ok(Self { terminal })
    }

    /// Shows `state`.
    pub(crate) fn show(&mut self, state: &TopState) -> anyhow::Result<()> {
        self.terminal.draw(|frame| draw(state, frame)).context("cannot write to the terminal")?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = ratatui::try_restore();
    }
}

/// The next key, if one is pressed within `wait`. The terminal must be a [`Screen`].
pub(crate) fn next_key(wait: Duration) -> anyhow::Result<Option<Key>> {
    let read = || -> io::Result<Option<Key>> {
        if !event::poll(wait)? {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(pressed) if pressed.kind != KeyEventKind::Release => key(pressed),
            _ => None,
        })
    };
    read().context("cannot read from the terminal")
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
