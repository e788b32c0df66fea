//! Which crate may use which.

use super::{Finding, SourceFile, Tree};

/// A crate may use those on earlier lines, never a neighbour on its own line.
const ORDER: [&[&str]; 9] = [
    &["measure"],
    &["stats", "model"],
    &["host"],
    &["engine"],
    &["connect", "remote"],
    &["load", "diskspd", "transfer", "collect", "flash", "store", "notify"],
    &["session", "watch"],
    &["report"],
    &["web", "lake"],
];

/// Programs that tests run, in `tests/programs`: every crate's tests may use it, and nothing else may.
const FOR_TESTS: &str = "test-programs";

fn line_of(name: &str) -> Option<usize> {
    ORDER.iter().position(|line| line.contains(&name))
}

pub(super) fn crates_use_only_what_stands_above_them(tree: &Tree) -> Vec<Finding> {
    tree.crates().flat_map(|(name, manifest)| crate_findings(name, manifest)).collect()
}

fn crate_findings(name: &str, manifest: &SourceFile) -> Vec<Finding> {
    let Some(line) = line_of(name) else {
        let message = format!(
            "the crate {name} has no place in the order of crates: a new crate needs a wall to name, else it is a module"
        );
        return vec![Finding::whole(&manifest.path, message)];
    };
    let table: toml::Table = match manifest.text.parse() {
        Ok(table) => table,
        Err(error) => return vec![Finding::whole(&manifest.path, format!("is not TOML: {error}"))],
    };
    let used = own_crates_in(&table);
    let wrong = used.iter().filter(|used| line_of(used).is_none_or(|theirs| theirs >= line));
    wrong
        .map(|used| {
            let message = format!(
                "{name} may not use {used}: a crate uses only what stands above it in {}",
                ORDER.map(|line| line.join(", ")).join(" | ")
            );
            Finding::whole(&manifest.path, message)
        })
        .collect()
}

/// Our crates in any of a manifest's dependency tables, including those for one platform.
fn own_crates_in(manifest: &toml::Table) -> Vec<String> {
    const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let platforms = manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten();
    let places = platforms.filter_map(|(_, value)| value.as_table()).chain([manifest]);
    let tables = places.flat_map(|place| TABLES.map(|table| (table, place.get(table))));
    let mut used = Vec::new();
    for (table, entries) in tables {
        for (key, value) in entries.and_then(toml::Value::as_table).into_iter().flatten() {
            let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(key);
            let name = package.strip_prefix("iostall-");
            used.extend(
                name.filter(|name| *name != FOR_TESTS || table != "dev-dependencies").map(String::from),
            );
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(name: &str, manifest: &str) -> Vec<String> {
        let tree = Tree::of(&[(&format!("crates/{name}/Cargo.toml"), manifest)]);
        crates_use_only_what_stands_above_them(&tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_crate_may_use_what_stands_above_it() {
        let manifest =
            "[dependencies]\niostall-measure.workspace = true\niostall-model.workspace = true\nserde = '1'\n";
        assert_eq!(messages("store", manifest), Vec::<String>::new());
        let for_tests = "iostall-test-programs.workspace = true\n";
        assert_eq!(messages("store", &format!("[dev-dependencies]\n{for_tests}")), Vec::<String>::new());
        assert_eq!(messages("store", &format!("[dependencies]\n{for_tests}")).len(), 1);
        assert_eq!(
            messages("web", "[dependencies]\niostall-report.workspace = true\n"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_neighbour_and_what_stands_below_are_refused_wherever_they_are_named() {
        for manifest in [
            "[dependencies]\niostall-model.workspace = true\n",
            "[dev-dependencies]\niostall-load = { path = '../load' }\n",
            "[build-dependencies]\niostall-web = '1'\n",
            "[target.'cfg(unix)'.dependencies]\niostall-report = '1'\n",
            "[dependencies]\nother = { package = 'iostall-store', version = '1' }\n",
            "[dependencies]\niostall-unheard-of = '1'\n",
        ] {
            assert_eq!(messages("stats", manifest).len(), 1, "{manifest}");
        }
    }

    #[test]
    fn a_crate_without_a_place_in_the_order_is_refused() {
        assert!(messages("extras", "")[0].contains("wall"));
    }
}
