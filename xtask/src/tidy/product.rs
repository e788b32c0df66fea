//! Imports and strings in the product's Rust sources, without tests.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprMethodCall, Ident, ImplItem, Item, ItemUse, LitStr, UseTree, Visibility};

use super::{SourceFile, Tree};

#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// Such as `crates/load/src`.
    pub(crate) directory: String,
    /// By module path; that of `lib.rs` or `main.rs` is empty.
    pub(crate) modules: BTreeMap<Vec<String>, Module>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    /// Relative to the workspace root.
    pub(crate) path: String,
    /// Paths that are imported or used, with their lines.
    pub(crate) paths: Vec<(usize, Vec<String>)>,
    /// What each imported name refers to.
    pub(crate) imports: BTreeMap<String, Vec<String>>,
    /// Method calls, with their lines.
    pub(crate) calls: Vec<(usize, String)>,
    /// Methods that are given a value made for them, in an expression that holds a lock, with their lines.
    pub(crate) made_under_locks: Vec<(usize, String)>,
    /// String literals, with their lines.
    pub(crate) texts: Vec<(usize, String)>,
    test_modules: Vec<String>,
}

/// The crates and the program, parsed anew: see [`Tree::sources`]. Files that do not parse are left to the compiler.
pub(super) fn parsed(tree: &Tree) -> Vec<Sources> {
    let mut directories: Vec<String> = tree.crates().map(|(name, _)| format!("crates/{name}/src")).collect();
    directories.push("src".to_owned());
    directories.into_iter().map(|directory| sources_below(tree, directory)).collect()
}

fn sources_below(tree: &Tree, directory: String) -> Sources {
    let mut modules = BTreeMap::new();
    for file in tree.rust() {
        let Some(inside) = file.path.strip_prefix(&directory).and_then(|rest| rest.strip_prefix('/')) else {
            continue;
        };
        if let Some(module) = read(file) {
            modules.insert(module_path(inside), module);
        }
    }
    let for_tests: Vec<Vec<String>> = modules
        .iter()
        .flat_map(|(path, module)| {
            module.test_modules.iter().map(move |name| [path.as_slice(), std::slice::from_ref(name)].concat())
        })
        .collect();
    modules.retain(|path, _| !for_tests.iter().any(|test| path.starts_with(test)));
    Sources { directory, modules }
}

/// `plan/zipf.rs` is `plan::zipf`, `plan.rs` and `plan/mod.rs` are `plan`.
pub(crate) fn module_path(inside: &str) -> Vec<String> {
    let mut parts: Vec<String> = inside.trim_end_matches(".rs").split('/').map(String::from).collect();
    let is_frame = parts.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
    if is_frame {
        parts.pop();
    }
    parts
}

fn read(file: &SourceFile) -> Option<Module> {
    let parsed = syn::parse_file(&file.text).ok()?;
    let mut module = Module { path: file.path.clone(), ..Module::default() };
    module.visit_file(&parsed);
    Some(module)
}

/// Methods of the standard library that take a value which they may drop at once.
const TAKE_VALUES: [&str; 6] = ["then_some", "unwrap_or", "ok_or", "map_or", "or", "and"];

/// Whether an expression makes a value that may have a `Drop`; `Ok(())` makes none.
fn is_made(given: &Expr) -> bool {
    match given {
        Expr::Call(call) => {
            let wraps = |name: &syn::Ident| ["Ok", "Err", "Some"].iter().any(|wrapper| name == wrapper);
            let is_wrapper =
                matches!(&*call.func, Expr::Path(path) if path.path.get_ident().is_some_and(wraps));
            !is_wrapper || call.args.iter().any(is_made)
        }
        Expr::Struct(_) => true,
        _ => false,
    }
}

/// Whether a lock that this expression takes is held until the statement ends.
fn locks(expression: &Expr) -> bool {
    let is_lock = |function: &Expr| match function {
        Expr::Path(path) => path.path.segments.last().is_some_and(|name| name.ident == "lock"),
        _ => false,
    };
    match expression {
        Expr::MethodCall(call) => call.method == "lock" || locks(&call.receiver),
        Expr::Call(call) => is_lock(&call.func),
        Expr::Field(field) => locks(&field.base),
        Expr::Unary(unary) => locks(&unary.expr),
        Expr::Paren(inner) => locks(&inner.expr),
        Expr::Reference(reference) => locks(&reference.expr),
        Expr::Try(tried) => locks(&tried.expr),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item(&mut self, item: &'ast Item) {
        match (is_for_tests(item_attributes(item)), item) {
            (true, Item::Mod(declared)) => self.test_modules.push(declared.ident.to_string()),
            (true, _) => {}
            (false, _) => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !is_for_tests(impl_attributes(item)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.add_imports(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
        self.paths.push((line, path.segments.iter().map(|segment| segment.ident.to_string()).collect()));
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let (line, method) = (call.method.span().start().line, call.method.to_string());
        if TAKE_VALUES.contains(&method.as_str()) && call.args.iter().any(is_made) && locks(&call.receiver) {
            self.made_under_locks.push((line, method.clone()));
        }
        self.calls.push((line, method));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        self.texts.push((text.span().start().line, text.value()));
    }

    // Macro arguments are not parsed, but strings in them count, and whole paths.
    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        add_texts(called.tokens.clone(), &mut self.texts);
        add_paths(called.tokens.clone(), &mut self.paths);
        visit::visit_macro(self, called);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            add_paths(list.tokens.clone(), &mut self.paths);
        }
    }

    // `pub(super)` does not use the parent module.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

impl Module {
    fn add_imports(&mut self, tree: &UseTree, above: &mut Vec<String>) {
        match tree {
            UseTree::Name(name) => self.add_import(above, &name.ident, &name.ident),
            UseTree::Rename(renamed) => self.add_import(above, &renamed.ident, &renamed.rename),
            UseTree::Glob(glob) => self.paths.push((glob.star_token.spans[0].start().line, above.clone())),
            UseTree::Path(path) => {
                above.push(path.ident.to_string());
                self.add_imports(&path.tree, above);
                above.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_imports(tree, above);
                }
            }
        }
    }

    fn add_import(&mut self, above: &[String], name: &Ident, local: &Ident) {
        let is_module = name == "self";
        let path: Vec<String> = above.iter().cloned().chain((!is_module).then(|| name.to_string())).collect();
        let local =
            if local == "self" { above.last().cloned().unwrap_or_default() } else { local.to_string() };
        self.imports.insert(local, path.clone());
        self.paths.push((name.span().start().line, path));
    }
}

pub(crate) fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

pub(crate) fn impl_attributes(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Fn(function) => &function.attrs,
        ImplItem::Const(constant) => &constant.attrs,
        _ => &[],
    }
}

pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(is_test_condition)
}

pub(crate) fn is_test_condition(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
}

fn add_texts(tokens: proc_macro2::TokenStream, texts: &mut Vec<(usize, String)>) {
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Group(group) => add_texts(group.stream(), texts),
            proc_macro2::TokenTree::Literal(literal) => {
                if let Ok(text) = syn::parse_str::<LitStr>(&literal.to_string()) {
                    texts.push((literal.span().start().line, text.value()));
                }
            }
            _ => {}
        }
    }
}

/// Paths that are written from the root of the crate, such as in `#[error("{}", crate::names::SCRATCH)]`.
fn add_paths(tokens: proc_macro2::TokenStream, paths: &mut Vec<(usize, Vec<String>)>) {
    let mut path: Option<(usize, Vec<String>)> = None;
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Ident(name) if name == "crate" => {
                paths.extend(path.take());
                path = Some((name.span().start().line, vec![name.to_string()]));
            }
            proc_macro2::TokenTree::Ident(name) => {
                if let Some((_, words)) = &mut path {
                    words.push(name.to_string());
                }
            }
            proc_macro2::TokenTree::Punct(mark) if mark.as_char() == ':' => {}
            proc_macro2::TokenTree::Group(group) => {
                paths.extend(path.take());
                add_paths(group.stream(), paths);
            }
            _ => paths.extend(path.take()),
        }
    }
    paths.extend(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Sources {
        let tree = Tree::of(&[("crates/load/Cargo.toml", ""), ("crates/load/src/lib.rs", text)]);
        parsed(&tree).remove(0)
    }

    fn paths(text: &str) -> Vec<String> {
        only(text).modules[&Vec::new()].paths.iter().map(|(_, path)| path.join("::")).collect()
    }

    #[test]
    fn imports_are_taken_apart_and_paths_in_code_are_seen() {
        let text =
            "use crate::a::{self, B, c::*};\npub(crate) fn f() -> std::io::Result<()> { d::e(); Ok(()) }\n";
        assert_eq!(paths(text), ["crate::a", "crate::a::B", "crate::a::c", "std::io::Result", "d::e", "Ok"]);
    }

    #[test]
    fn what_is_for_tests_is_left_out_with_the_files_it_declares() {
        let text = "#[cfg(test)]\nuse a::b;\nstruct S;\nimpl S { #[cfg(test)] fn f() { c::d(); } }\n\
                    #[cfg(test)]\nmod tests { use e::f; }\n#[cfg(test)]\nmod fixture;\n";
        let tree = Tree::of(&[
            ("crates/load/Cargo.toml", ""),
            ("crates/load/src/lib.rs", text),
            ("crates/load/src/fixture.rs", "use g::h;\n"),
            ("crates/load/src/fixture/more.rs", ""),
            ("crates/load/src/plan/mod.rs", ""),
        ]);
        let sources = parsed(&tree).remove(0);
        assert_eq!(sources.modules.keys().cloned().collect::<Vec<_>>(), [vec![], vec!["plan".to_owned()]]);
        let found: Vec<String> =
            sources.modules[&Vec::new()].paths.iter().map(|(_, path)| path.join("::")).collect();
        assert_eq!(found, ["S"]);
    }

    #[test]
    fn texts_are_seen_in_macros_too_and_comments_are_none() {
        let sources = only("// \"no\"\nfn f() { println!(\"{}\", g(\"/proc/x\")); h(\"y\"); }\n");
        let texts: Vec<&str> =
            sources.modules[&Vec::new()].texts.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["{}", "/proc/x", "y"]);
    }
}
