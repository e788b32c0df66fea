//! Code that depends on the run kind handles every kind, in modules dedicated to that.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Expr, ExprLet, ExprMatch, ImplItem, Item, Local, Macro, Pat, Path};

use super::product::{impl_attributes, is_for_tests, item_attributes};
use super::{Finding, Tree};

/// The type whose variants are the run kinds.
const KINDS: &str = "RunBody";

/// A `match` on run kinds is in a crate's `kinds/` and has no wildcard; nothing tests for one kind and
/// ignores the others.
pub(super) fn every_kind_of_run_is_answered_for(tree: &Tree) -> Vec<Finding> {
    let modules = tree.sources().iter().flat_map(|sources| sources.modules.values());
    let files = modules.filter_map(|module| tree.file(&module.path));
    files.filter(|file| file.text.contains(KINDS)).flat_map(findings_in).collect()
}

fn findings_in(file: &super::SourceFile) -> Vec<Finding> {
    let Ok(parsed) = syn::parse_file(&file.text) else { return Vec::new() };
    let mut seen =
        Seen { path: &file.path, in_kinds: file.path.contains("/src/kinds/"), findings: Vec::new() };
    seen.visit_file(&parsed);
    seen.findings
}

struct Seen<'a> {
    path: &'a str,
    in_kinds: bool,
    findings: Vec<Finding>,
}

impl Seen<'_> {
    fn add(&mut self, line: usize, message: &str) {
        self.findings.push(Finding::at(self.path, line, message));
    }

    fn refuse_single(&mut self, pattern: &Pat) {
        if names_a_kind(pattern) {
            let line = pattern.span().start().line;
            self.add(line, "asks for one kind of run and passes over the others: ask RunBody::as_kind, or let the kinds answer");
        }
    }
}

impl<'ast> Visit<'ast> for Seen<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(item_attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !is_for_tests(impl_attributes(item)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_expr_match(&mut self, expression: &'ast ExprMatch) {
        let on_kinds = expression.arms.iter().any(|arm| names_a_kind(&arm.pat));
        let line = expression.match_token.span.start().line;
        if on_kinds && !self.in_kinds {
            self.add(line, "matches on the kinds of run: only a crate's kinds/ does, others ask it");
        }
        if on_kinds && expression.arms.iter().any(|arm| is_wildcard(&arm.pat)) {
            self.add(line, "a wildcard on the kinds of run would swallow the next one: name every kind");
        }
        visit::visit_expr_match(self, expression);
    }

    fn visit_expr_let(&mut self, expression: &'ast ExprLet) {
        self.refuse_single(&expression.pat);
        visit::visit_expr_let(self, expression);
    }

    fn visit_local(&mut self, local: &'ast Local) {
        self.refuse_single(&local.pat);
        visit::visit_local(self, local);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        let is_matches = called.path.segments.last().is_some_and(|name| name.ident == "matches");
        if is_matches && called.tokens.to_string().contains(&format!("{KINDS} ::")) {
            let line = called.path.span().start().line;
            self.add(line, "asks for some kinds of run and passes over the others: let the kinds answer");
        }
        // Macro arguments are not parsed, but are often a list of expressions, which may contain a match.
        let arguments =
            called.parse_body_with(syn::punctuated::Punctuated::<Expr, syn::Token![,]>::parse_terminated);
        arguments.iter().flatten().for_each(|argument| self.visit_expr(argument));
        visit::visit_macro(self, called);
    }
}

fn names_a_kind(pattern: &Pat) -> bool {
    struct Names(bool);
    impl<'ast> Visit<'ast> for Names {
        fn visit_path(&mut self, path: &'ast Path) {
            let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.0 |= names.iter().rev().skip(1).any(|name| name == KINDS);
        }
    }
    let mut names = Names(false);
    names.visit_pat(pattern);
    names.0
}

fn is_wildcard(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        // A name that matches anything.
        Pat::Ident(name) => name.subpat.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let tree = Tree::of(&[("crates/report/Cargo.toml", ""), (path, text)]);
        every_kind_of_run_is_answered_for(&tree).iter().map(ToString::to_string).collect()
    }

    /// A kind that an output forgot gave an empty table and exit status 0.
    #[test]
    fn a_wildcard_on_kinds_is_refused_even_where_kinds_are_matched() {
        let text = "fn f(b: &RunBody) -> u8 { match b { RunBody::Load(_) => 1, _ => 0 } }\n";
        let found = messages("crates/report/src/kinds/mod.rs", text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("kinds/mod.rs:1: a wildcard"), "{found:?}");
        let named = "fn f(b: &RunBody) -> u8 { match b { RunBody::Load(_) => 1, other => g(other) } }\n";
        assert_eq!(messages("crates/report/src/kinds/mod.rs", named).len(), 1);
    }

    #[test]
    fn kinds_are_matched_in_their_own_modules_only() {
        let text = "fn f(b: &RunBody) -> u8 { match b { RunBody::Load(_) => 1, RunBody::Copy(_) => 0 } }\n";
        assert_eq!(messages("crates/report/src/kinds/mod.rs", text), [""; 0]);
        assert!(messages("crates/report/src/csv.rs", text)[0].contains("only a crate's kinds/ does"));
    }

    #[test]
    fn asking_for_one_kind_is_refused_in_every_spelling() {
        for body in [
            "if let RunBody::Load(x) = b { g(x); }",
            "let iostall_model::RunBody::Load(x) = b else { return };",
            "if matches!(b, RunBody::Load(_) | RunBody::Copy(_)) { g(); }",
            "let t = html! ( if let RunBody::Load(x) = b { g(x) } );",
        ] {
            let found = messages("crates/report/src/csv.rs", &format!("fn f(b: &RunBody) {{ {body} }}\n"));
            assert_eq!(found.len(), 1, "{body}: {found:?}");
        }
    }

    #[test]
    fn making_a_run_of_a_kind_and_tests_are_free() {
        let text = "fn f() -> RunBody { RunBody::Load(g()) }\n#[cfg(test)]\nmod tests { fn t(b: &RunBody) { let RunBody::Load(_) = b else { panic!() }; } }\n";
        assert_eq!(messages("src/main.rs", text), [""; 0]);
    }
}
