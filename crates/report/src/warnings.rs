//! Names of warnings.

use iostall_model::Warning;

use crate::format::shown;

/// Its code, and what it is about: `target-small (data)`.
pub fn title(warning: &Warning) -> String {
    // The stored spelling is stable; a unit variant always serialises to a string.
    let code = serde_json::to_value(warning.code);
    let code = code.ok().and_then(|code| code.as_str().map(str::to_owned)).unwrap_or_default();
    match &warning.subject {
        Some(subject) => format!("{code} ({})", shown(subject)),
        None => code,
    }
}
