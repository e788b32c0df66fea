//! Doc comments are required on modules, public types and public functions. Fields, variants and trait
//! implementations need none, because a comment there mostly repeats the name.

use syn::{Attribute, Ident, ImplItem, Item, ItemImpl, ItemTrait, TraitItem, Visibility};

use super::product::{self, is_for_tests};
use super::{Finding, Tree};

/// Every file starts with its purpose, and everything other crates can use is documented.
pub(super) fn public_items_have_docs(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for sources in tree.sources() {
        let files = sources.modules.values().filter_map(|module| tree.file(&module.path));
        for file in files {
            // The compiler reports a file that does not parse.
            let Ok(parsed) = syn::parse_file(&file.text) else { continue };
            let mut missing = Missing { path: &file.path, findings: Vec::new() };
            if !has_docs(&parsed.attrs) {
                missing
                    .findings
                    .push(Finding::whole(&file.path, "must open with `//!` and the module's purpose"));
            }
            missing.check_items(&parsed.items);
            findings.append(&mut missing.findings);
        }
    }
    findings
}

struct Missing<'a> {
    path: &'a str,
    findings: Vec<Finding>,
}

impl Missing<'_> {
    fn check_items(&mut self, items: &[Item]) {
        for item in items.iter().filter(|item| !is_for_tests(product::item_attributes(item))) {
            match item {
                Item::Struct(item) => self.check(&item.vis, &item.attrs, &item.ident),
                Item::Enum(item) => self.check(&item.vis, &item.attrs, &item.ident),
                Item::Union(item) => self.check(&item.vis, &item.attrs, &item.ident),
                Item::Type(item) => self.check(&item.vis, &item.attrs, &item.ident),
                Item::Fn(item) => self.check(&item.vis, &item.attrs, &item.sig.ident),
                Item::Trait(item) => self.check_trait(item),
                Item::Impl(item) if item.trait_.is_none() => self.check_methods(item),
                Item::Mod(item) => {
                    if let Some((_, items)) = &item.content {
                        self.check(&item.vis, &item.attrs, &item.ident);
                        self.check_items(items);
                    }
                }
                _ => {}
            }
        }
    }

    fn check_trait(&mut self, item: &ItemTrait) {
        self.check(&item.vis, &item.attrs, &item.ident);
        for method in &item.items {
            if let TraitItem::Fn(method) = method {
                self.check(&item.vis, &method.attrs, &method.sig.ident);
            }
        }
    }

    fn check_methods(&mut self, item: &ItemImpl) {
        for method in &item.items {
            if let ImplItem::Fn(method) = method
                && !is_for_tests(&method.attrs)
            {
                self.check(&method.vis, &method.attrs, &method.sig.ident);
            }
        }
    }

    fn check(&mut self, visibility: &Visibility, attributes: &[Attribute], name: &Ident) {
        if matches!(visibility, Visibility::Public(_)) && !has_docs(attributes) {
            let line = name.span().start().line;
            self.findings.push(Finding::at(
                self.path,
                line,
                format!("{name} is public and has no doc comment"),
            ));
        }
    }
}

fn has_docs(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("doc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let tree = Tree::of(&[("crates/load/Cargo.toml", ""), ("crates/load/src/lib.rs", text)]);
        public_items_have_docs(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_that_does_not_open_with_its_purpose_is_refused() {
        assert_eq!(
            findings("mod run;\n"),
            ["crates/load/src/lib.rs: must open with `//!` and the module's purpose"]
        );
    }

    /// With `missing_docs`, half of all doc comments stood on fields and said "Its name." of a `name`.
    #[test]
    fn public_types_functions_and_methods_need_docs_and_their_parts_do_not() {
        let text = "//! Load.\npub struct A { pub name: u8 }\npub enum B { One }\npub fn c() {}\n\
                    pub trait D { fn e(&self); }\nimpl A { pub fn f() {} fn g() {} pub(crate) fn h() {} }\n\
                    impl Clone for A { fn clone(&self) -> Self { A } }\npub const I: u8 = 1;\n\
                    pub(crate) struct J;\n#[cfg(test)]\npub fn k() {}\n/// L.\npub struct L { pub m: u8 }\n";
        let names = ["2: A", "3: B", "4: c", "5: D", "5: e", "6: f"];
        let expected =
            names.map(|name| format!("crates/load/src/lib.rs:{name} is public and has no doc comment"));
        assert_eq!(findings(text), expected);
    }
}
