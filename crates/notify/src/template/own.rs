//! A user's own template: a text in which `{{ … }}` takes values of the document.

use std::path::{Path, PathBuf};

use iostall_engine::Input;
use iostall_measure::ByteCount;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};

use crate::message::Message;

const TEMPLATE: Input = Input { what: "template", limit: ByteCount(256 << 10) };

/// How many steps a template may take: one that loops without an end must not hold up a channel.
const STEPS_MAX: u64 = 1_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnTemplate {
    path: PathBuf,
    text: String,
}

impl OwnTemplate {
    /// Reads the template at `path`. The error says what is wrong with it.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = TEMPLATE.text(path).map_err(|error| error.to_string())?;
        let own = Self { path: path.to_owned(), text };
        let mut environment = environment();
        environment.add_template("body", &own.text).map_err(|error| own.wrong(&error))?;
        Ok(own)
    }

    /// The body for `message`: values are written as JSON writes them, so that a name with a quotation mark in it breaks no
    /// document.
    pub(crate) fn render(&self, message: &Message) -> Result<String, String> {
        let values = Value::from(Serde(message.payload()));
        environment().render_named_str("body", &self.text, values).map_err(|error| self.wrong(&error))
    }

    fn wrong(&self, error: &minijinja::Error) -> String {
        let line = error.line().map(|line| format!(", line {line}")).unwrap_or_default();
        format!("the template {}{line}: {error}", self.path.display())
    }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Json);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_fuel(Some(STEPS_MAX));
    environment
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The path below the webhook's address, with its query; nothing where the address is whole.
    pub(crate) path: String,
    /// What stands before the token in the `Authorization` header; `None`: the token is in the body.
    pub(crate) scheme: Option<&'static str>,
    pub(crate) body: String,
}
