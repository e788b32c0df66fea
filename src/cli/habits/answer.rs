//! What is said to words of another tool.

/// What to say to words of another tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The same in our words.
    Line {
        line: String,
        /// Options that change nothing here, and so are not in it.
        left_out: Vec<String>,
        /// What is otherwise all the same.
        note: Option<String>,
    },
    /// Something that nothing here does, and why, or what does it instead.
    No(String),
}

impl Answer {
    /// A line with nothing to be said of it.
    pub(super) fn line(line: String, left_out: Vec<String>) -> Self {
        Self::Line { line, left_out, note: None }
    }

    /// As a hint.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Line { line, left_out, note } => {
                let mut text = format!("in iostall's words: {line}");
                if !left_out.is_empty() {
                    text.push_str(&format!("\n(left out: {})", left_out.join(", ")));
                }
                if let Some(note) = note {
                    text.push_str(&format!("\n({note})"));
                }
                text
            }
            Self::No(reason) => reason.clone(),
        }
    }
}

/// Words as a shell reads them back.
pub(super) fn quoted(words: &[String]) -> String {
    words.iter().map(|word| iostall_measure::foreign::shell_word(word)).collect::<Vec<_>>().join(" ")
}
