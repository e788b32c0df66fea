//! Patterns of a policy: which names and statements may come.

/// One step of a pattern for statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Exact(char),
    /// A character of a name.
    Name,
    /// More of them, or none.
    Names,
    /// Any characters, or none.
    Anything,
}

/// Whether a name fits a pattern, in which `*` is any characters.
pub(super) fn fits_name(pattern: &str, name: &str) -> bool {
    let parts = pattern.chars().map(|one| if one == '*' { Part::Anything } else { Part::Exact(one) });
    fits(&parts.collect::<Vec<_>>(), name)
}

/// Whether a statement fits a pattern, in which `*` is a name (letters, digits, `_` and `.`) and `**` any characters. White space of
/// any length counts as one space, and a semicolon at the end for nothing.
pub(super) fn fits_statement(pattern: &str, statement: &str) -> bool {
    let mut parts = Vec::new();
    let pattern = plain(pattern);
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '*' {
            parts.push(Part::Exact(letter));
        } else if letters.next_if_eq(&'*').is_some() {
            parts.push(Part::Anything);
        } else {
            parts.extend([Part::Name, Part::Names]);
        }
    }
    fits(&parts, &plain(statement))
}

fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    words.join(" ").trim_end_matches([';', ' ']).to_owned()
}

/// Follows all ways through the pattern at once, so that no text takes long.
fn fits(parts: &[Part], text: &str) -> bool {
    let mut places = vec![false; parts.len() + 1];
    places[0] = true;
    skip(parts, &mut places);
    for letter in text.chars() {
        let mut next = vec![false; parts.len() + 1];
        for (at, part) in parts.iter().enumerate().filter(|(at, _)| places[*at]) {
            let is_name = letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
            match part {
                Part::Exact(wanted) if *wanted == letter => next[at + 1] = true,
                Part::Name if is_name => next[at + 1] = true,
                Part::Names if is_name => next[at] = true,
                Part::Anything => next[at] = true,
                _ => {}
            }
        }
        skip(parts, &mut next);
        places = next;
    }
    places[parts.len()]
}

/// What may be nothing can be passed by.
fn skip(parts: &[Part], places: &mut [bool]) {
    for (at, part) in parts.iter().enumerate() {
        if places[at] && matches!(part, Part::Names | Part::Anything) {
            places[at + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_characters_and_nothing_else_is_special() {
        for (pattern, name) in
            [("*", "a"), ("a", "a"), ("a*", "a"), ("a*c", "abc"), ("*.toml", "x.toml"), ("a*b*c", "aXbYc")]
        {
            assert!(fits_name(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("a", "b"), ("a", "ab"), ("a*c", "ac.d"), ("a*a", "a"), ("?", "a"), ("", "a"), ("a*b*c", "aXc")]
        {
            assert!(!fits_name(pattern, name), "{pattern} {name}");
        }
    }

    /// Nothing is to come along with what is allowed.
    #[test]
    fn a_star_in_a_statement_is_one_name_and_two_are_anything() {
        const GRANT: &str = "GRANT SELECT ON * TO monitor";
        for (pattern, statement) in [
            (GRANT, "GRANT SELECT ON orders TO monitor"),
            (GRANT, "GRANT  SELECT\n\tON sales.orders TO monitor ;\n"),
            ("CREATE FUNCTION monitor.*(**", "CREATE FUNCTION monitor.f() RETURNS int AS $$ 1; 2 $$"),
            ("**", ""),
            ("a**b*", "a b c bd"),
        ] {
            assert!(fits_statement(pattern, statement), "{pattern} {statement}");
        }
        for (pattern, statement) in [
            (GRANT, "GRANT SELECT ON  TO monitor"),
            (GRANT, "GRANT SELECT ON a TO monitor; DROP TABLE b"),
            (GRANT, "GRANT SELECT ON a; DROP TABLE b; GRANT SELECT ON c TO monitor"),
            (GRANT, "GRANT SELECT ON a, b TO monitor"),
            (GRANT, "GRANT SELECT ON [a]TO[b]EXEC[c]GRANT[x]ON[y] TO monitor"),
            (GRANT, "GRANT SELECT ON a/**/TO/**/b TO monitor"),
            (GRANT, "GRANT SELECT ON orders TO monitor WITH GRANT OPTION"),
            ("a*", "a"),
        ] {
            assert!(!fits_statement(pattern, statement), "{pattern} {statement}");
        }
    }
}
