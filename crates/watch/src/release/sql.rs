//! Objects of kind `sql`: statements for a database of a server, what undoes them, and what shows that they were applied.

use serde::Deserialize;

/// What begins statements that would end the transaction of all others.
const ENDS: [&str; 8] = ["ABORT", "COMMIT", "END", "PREPARE", "RELEASE", "ROLLBACK", "SAVEPOINT", "START"];

/// The only form in which such an object comes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlObject {
    /// What the policy of the server calls the database.
    pub source: String,
    /// Run in this order.
    pub apply: Vec<String>,
    /// Bring back what was there before.
    pub undo: Vec<String>,
    /// A query that gives one value: its hash says how the object is on this server.
    pub verify: String,
    /// What it gives when the object was applied. Without it, what it gives in a trial counts.
    pub expect: Option<String>,
}

impl SqlObject {
    /// An object from its text.
    ///
    /// # Errors
    /// If it is none, or lacks what undoes or verifies it: the reason.
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(body).map_err(|_| "it is no UTF-8 text".to_owned())?;
        let object: Self = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        let is_blank = |text: &String| text.trim().is_empty();
        for (name, statements) in [("apply", &object.apply), ("undo", &object.undo)] {
            if statements.is_empty() || statements.iter().any(is_blank) {
                return Err(format!("{name} has no statement, or an empty one"));
            }
        }
        if is_blank(&object.verify) || is_blank(&object.source) {
            return Err("verify and source must say something".to_owned());
        }
        if object.apply.iter().chain(&object.undo).any(|text| ENDS.contains(&&*first_word(text))) {
            return Err("a statement ends or prepares a transaction, and all of them are in one".to_owned());
        }
        let all = object.apply.iter().chain(&object.undo).chain([&object.verify]);
        if all.into_iter().any(|text| text.contains('\0')) {
            return Err("a statement has a zero byte in it".to_owned());
        }
        Ok(object)
    }
}

/// The first word after white space and comments, in capitals.
fn first_word(statement: &str) -> String {
    let mut rest = statement.trim_start();
    loop {
        let after = if rest.starts_with("--") {
            rest.split_once('\n').map_or("", |(_, after)| after)
        } else if rest.starts_with("/*") {
            after_comment(rest)
        } else {
            break;
        };
        rest = after.trim_start();
    }
    rest.chars().take_while(char::is_ascii_alphabetic).map(|letter| letter.to_ascii_uppercase()).collect()
}

/// What follows the comment at the beginning, which may have others in it.
fn after_comment(text: &str) -> &str {
    let (mut rest, mut depth) = (text, 0_u32);
    loop {
        match (rest.find("/*"), rest.find("*/")) {
            (Some(open), close) if close.is_none_or(|close| open < close) => {
                depth += 1;
                rest = &rest[open + 2..];
            }
            (_, Some(close)) => {
                depth = depth.saturating_sub(1);
                rest = &rest[close + 2..];
                if depth == 0 {
                    return rest;
                }
            }
            _ => return "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "source = \"db1\"\napply = [\"a\"]\nundo = [\"u\"]\nverify = \"v\"\n";

    #[test]
    fn an_object_without_a_way_back_or_a_check_is_none() {
        assert_eq!(SqlObject::parse(WHOLE.as_bytes()).unwrap().undo, ["u"]);
        for line in WHOLE.lines() {
            assert!(SqlObject::parse(WHOLE.replace(line, "").as_bytes()).is_err(), "without {line}");
        }
        for (from, to) in
            [("[\"u\"]", "[]"), ("[\"u\"]", "[\" \"]"), ("\"v\"", "\"\""), ("\"a\"", "\"\\u0000\"")]
        {
            assert!(SqlObject::parse(WHOLE.replace(from, to).as_bytes()).is_err(), "{to}");
        }
        for ends in ["COMMIT", " rollback ", "/* a /* b */ */ -- c\\nCommit;", "END", "/**/commit"] {
            assert!(
                SqlObject::parse(WHOLE.replace("\"a\"", &format!("\"{ends}\"")).as_bytes()).is_err(),
                "{ends}"
            );
        }
        for stays in ["BEGIN x END", "committed", "-- commit\\nx", "/* commit", "x; commit"] {
            assert!(
                SqlObject::parse(WHOLE.replace("\"a\"", &format!("\"{stays}\"")).as_bytes()).is_ok(),
                "{stays}"
            );
        }
        assert!(SqlObject::parse(format!("{WHOLE}more = 1\n").as_bytes()).is_err());
        assert!(SqlObject::parse(b"\xff").is_err());
    }
}
