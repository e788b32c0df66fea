//! Grammars of connection strings: names and values, without their meaning.

/// The pairs of `Name=value;Name="va;lue";Name={va;lue}`, as in ADO, ODBC and JDBC. A part without an equals
/// sign is no pair but the rest of a value that should have been quoted.
pub(super) fn by_semicolon(text: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c == ';' || c.is_whitespace());
        let Some((name, after)) = rest.split_once('=') else { return pairs };
        let name = name.rsplit(';').next().unwrap_or_default().trim();
        let (value, after) = value(after.trim_start());
        pairs.push((name.to_owned(), value));
        rest = after;
    }
}

/// A value, and the rest of the text.
fn value(text: &str) -> (String, &str) {
    let close = match text.chars().next() {
        Some('{') => '}',
        Some(quote @ ('"' | '\'')) => quote,
        _ => {
            let end = text.find(';').unwrap_or(text.len());
            return (text[..end].trim().to_owned(), &text[end..]);
        }
    };
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character != close {
            value.push(character);
        } else if characters.next_if(|(_, next)| *next == close).is_some() {
            // A doubled quote stands for one.
            value.push(close);
        } else {
            return (value, &text[at + close.len_utf8()..]);
        }
    }
    (value, "")
}

/// The pairs of `name=value name='va lue'`, as in libpq.
pub(super) fn by_space(text: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.split_whitespace().next_back().unwrap_or_default();
        let (mut value, mut quoted) = (String::new(), false);
        let mut characters = after.trim_start().chars();
        rest = "";
        while let Some(character) = characters.next() {
            match character {
                '\\' => value.extend(characters.next()),
                '\'' => quoted = !quoted,
                space if space.is_whitespace() && !quoted => {
                    rest = characters.as_str();
                    break;
                }
                other => value.push(other),
            }
        }
        pairs.push((name.to_owned(), value));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
        pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    #[test]
    fn values_of_ado_end_where_their_quotes_do() {
        let pairs = by_semicolon(" Server = tcp:h,1433 ;User ID=\"a;\"\"b\";;PWD={x}}=;y};Encrypt=yes;");
        let wanted = [("Server", "tcp:h,1433"), ("User ID", "a;\"b"), ("PWD", "x}=;y"), ("Encrypt", "yes")];
        assert_eq!(of(&pairs), wanted);
        assert_eq!(of(&by_semicolon("a=1;rest of it;b='2")), [("a", "1"), ("b", "2")]);
    }

    #[test]
    fn values_of_libpq_end_at_spaces() {
        let pairs = by_space("host=h dbname = 'a b' user=o\\'k port=5433");
        assert_eq!(of(&pairs), [("host", "h"), ("dbname", "a b"), ("user", "o'k"), ("port", "5433")]);
    }
}
