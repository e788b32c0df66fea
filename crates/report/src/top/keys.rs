//! What keys do.

use std::time::Duration;

use iostall_watch::Travel;
use jiff::SignedDuration;

use super::past::LEVELS;
use super::state::TopState;

/// A key, independent of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Char(char),
    Enter,
    Escape,
    Backspace,
    /// Next level.
    Tab,
    /// Sort by the column to the left.
    Left,
    /// Sort by the column to the right.
    Right,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    /// The interrupt key (Ctrl-C).
    Interrupt,
}

/// What the program must do after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Draw,
    Interval(Duration),
    Travel(Travel),
    Quit,
}

const INTERVALS_S: [u64; 7] = [1, 2, 5, 10, 30, 60, 300];
const PAGE: usize = 10;
/// Why there is no past to see.
const NO_PAST: &str = "only what a collector stores has a past: start top without a SOURCE";

impl TopState {
    pub fn press(&mut self, key: Key) -> Asked {
        if key == Key::Interrupt {
            return Asked::Quit;
        }
        self.notice = None;
        if self.is_typing {
            self.type_filter(key);
            return Asked::Draw;
        }
        if let Some(travel) = travel(key) {
            return self.travel(travel);
        }
        match key {
            Key::Char('q' | 'Q') => return Asked::Quit,
            Key::Char('+') => return self.change_interval(true),
            Key::Char('-') => return self.change_interval(false),
            Key::Char(digit @ '1'..='4') => self.show(usize::from(digit as u8 - b'1')),
            Key::Tab => self.show(self.level_place() + 1),
            Key::Char('/') => self.is_typing = true,
            Key::Char('?' | 'h') => self.is_helping = !self.is_helping,
            Key::Escape if self.is_helping => self.is_helping = false,
            Key::Enter | Key::Escape | Key::Backspace if self.is_inside => self.is_inside = false,
            Key::Enter => self.look_inside(),
            Key::Escape => self.set_filter(""),
            Key::Char('a') => self.shows_all = !self.shows_all,
            Key::Char('p' | ' ') => self.is_paused = !self.is_paused,
            Key::Char('r') => self.is_ascending = !self.is_ascending,
            Key::Left | Key::Char('<') => self.sort = self.sort.beside(false),
            Key::Right | Key::Char('>') => self.sort = self.sort.beside(true),
            other => self.scroll(other),
        }
        self.refresh();
        Asked::Draw
    }

    fn look_inside(&mut self) {
        self.chosen = self.lines.get(self.selected).map(|line| line.key.clone());
        self.is_inside = self.chosen.is_some();
        self.is_helping = false;
    }

    fn travel(&mut self, travel: Travel) -> Asked {
        match (self.interval, travel, self.position) {
            (Some(_), _, _) => self.notice = Some(NO_PAST),
            // It is the newest that is shown.
            (None, Travel::Forward | Travel::Live, None) => {}
            (None, _, _) => return Asked::Travel(travel),
        }
        Asked::Draw
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Enter => self.is_typing = false,
            Key::Escape => {
                self.is_typing = false;
                self.filter.clear();
            }
            Key::Backspace => drop(self.filter.pop()),
            Key::Char(character) => self.filter.push(character),
            _ => {}
        }
        self.refresh();
    }

    pub(super) fn level_place(&self) -> usize {
        LEVELS.iter().position(|(level, _)| *level == self.level).unwrap_or(0)
    }

    fn show(&mut self, place: usize) {
        self.level = LEVELS[place % LEVELS.len()].0;
        (self.selected, self.chosen, self.is_inside) = (0, None, false);
    }

    fn scroll(&mut self, key: Key) {
        let last = self.lines.len().saturating_sub(1);
        self.selected = match key {
            Key::Up => self.selected.saturating_sub(1),
            Key::Down => self.selected + 1,
            Key::PageUp => self.selected.saturating_sub(PAGE),
            Key::PageDown => self.selected + PAGE,
            Key::Home => 0,
            Key::End => last,
            _ => return,
        }
        .min(last);
        self.chosen = self.lines.get(self.selected).map(|line| line.key.clone());
    }

    fn change_interval(&mut self, is_longer: bool) -> Asked {
        let next = self.interval.and_then(|now| {
            let mut all = INTERVALS_S.into_iter();
            let next_s = if is_longer {
                all.find(|s| *s > now.as_secs())
            } else {
                all.rev().find(|s| *s < now.as_secs())
            };
            next_s.map(Duration::from_secs)
        });
        self.interval = next.or(self.interval);
        next.map_or(Asked::Draw, Asked::Interval)
    }
}

fn travel(key: Key) -> Option<Travel> {
    match key {
        Key::Char('[') => Some(Travel::Back),
        Key::Char(']') => Some(Travel::Forward),
        Key::Char('{') => Some(Travel::By(SignedDuration::from_hours(-1))),
        Key::Char('}') => Some(Travel::By(SignedDuration::from_hours(1))),
        Key::Char('n') => Some(Travel::Live),
        _ => None,
    }
}
