//! The drill of a SQLite database: the engine is the library, which looks at the file as a whole.

use std::path::Path;

use iostall_connect::sqlite::{check, version};
use iostall_model::drill::CheckState;

use super::findings::Findings;
use super::limits::Limits;

pub(super) fn drill(name: &str, path: &Path, limits: &Limits<'_>, findings: &mut Findings) {
    limits.show("checking", name);
    let begun_ns = limits.now_ns();
    let found = check(path, &|| limits.is_over());
    let took_ns = limits.now_ns() - begun_ns;
    findings.checks_ns += took_ns;
    findings.engines.push(format!("SQLite {}", version()));
    let check = format!("integrity of {name}");
    match found {
        Ok(problems) => {
            findings.decide(check, &problems, "integrity_check and foreign_key_check".to_owned(), took_ns);
        }
        Err(_) if limits.is_cancelled() => {}
        Err(_) if limits.is_over() => findings.add(check, CheckState::Failed, limits.reason(), took_ns),
        Err(error) => findings.add(check, CheckState::Failed, error.to_string(), took_ns),
    }
}
