//! Colours and cuts of text on the screen.

use ratatui_core::style::{Color, Modifier, Style};

use super::state::TopState;
use crate::judgement::Judgement;
use crate::table::Severity;

/// `text` in so many characters. What is cut out is from the middle: paths differ at their ends.
pub(super) fn cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head = kept / 3;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - (kept - head)).collect();
    format!("{start}…{end}")
}

// Without colour there are still bold, dim and reversed letters.

pub(super) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

pub(super) fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

pub(super) fn reversed() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

impl TopState {
    pub(super) fn caution(&self) -> Style {
        self.severity(Severity::Caution)
    }

    pub(super) fn judged(&self, judgement: Judgement) -> Style {
        match judgement {
            // Without colour, bold letters are for what matters.
            Judgement::Good if !self.has_colour => Style::new(),
            _ => self.severity(judgement.severity()),
        }
    }

    pub(super) fn severity(&self, severity: Severity) -> Style {
        match severity {
            Severity::Plain => Style::new(),
            _ if !self.has_colour => bold(),
            Severity::Strong => bold(),
            Severity::Caution => Style::new().fg(Color::Yellow),
            Severity::Bad => Style::new().fg(Color::Red),
            Severity::Good => Style::new().fg(Color::Green),
        }
    }
}
