//! A number that a program has of itself, for who scrapes it.

#[derive(Clone, Debug)]
pub struct Figure {
    pub name: &'static str,
    pub help: &'static str,
    pub is_counter: bool,
    pub label: Option<(&'static str, String)>,
    pub value: u64,
}
