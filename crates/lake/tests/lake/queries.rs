//! The queries of `lake/`: what DuckDB answers is what the repository answered before the days moved.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use iostall_model::Tier;
use iostall_store::{FleetUse, History as _, PostgresHistory};
use serde_json::json;

use crate::postgres::{Postgres, day, fill};
use crate::reader::Reader;
use crate::{lake, printed};

/// Every query, by its name.
pub(crate) fn queries() -> BTreeMap<String, String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lake");
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let sql = files.filter(|path| path.extension().is_some_and(|extension| extension == "sql"));
    sql.map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(&path).unwrap())
    })
    .collect()
}

/// What the repository's own reports say of these days, as the queries have it.
pub(crate) fn figures(history: &PostgresHistory) -> BTreeMap<&'static str, Vec<Vec<String>>> {
    let (window, kinds) = ((day(1), day(3)), ["sqlserver-file"]);
    let number = |number: f64| format!("{number:.0}");
    let used =
        |one: &FleetUse| vec![one.source.clone(), one.name.clone(), number(one.bytes), number(one.stall_ns)];
    let all = |uses: Vec<FleetUse>| uses.iter().map(used).collect();
    let mut figures = BTreeMap::new();
    figures.insert("worst_files", all(history.fleet_files(window, &kinds, 100).unwrap()));
    figures.insert("worst_volumes", all(history.fleet_volumes(window, &kinds, 100).unwrap()));
    let sizes = history.fleet_sizes(window, &kinds).unwrap();
    let days = |sizes: &iostall_store::FleetSizes| -> Vec<Vec<String>> {
        let one = |(at, bytes): &(jiff::Timestamp, f64)| {
            vec![sizes.source.clone(), at.to_string()[..10].to_owned(), number(*bytes)]
        };
        sizes.days.iter().filter(|(at, _)| *at < window.1).map(one).collect()
    };
    figures.insert("daily_growth", sizes.iter().flat_map(days).collect());
    let mut p95 = Vec::new();
    for watched in history.sources().unwrap() {
        history
            .rollups(watched.source.id, Tier::Day, window.0, window.1, &mut |row| {
                if let Some(stall) = row.rollup.reads_by_stall.stall_ns_at(0.95) {
                    let day = row.beginning.to_string()[..10].to_owned();
                    p95.push(vec![watched.source.name.clone(), row.subject.name, day, stall.to_string()]);
                }
            })
            .unwrap();
    }
    p95.sort();
    figures.insert("daily_p95", p95);
    figures
}

/// The columns of an answer that [`figures`] has, too.
pub(crate) fn picked(name: &str, rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let places: &[usize] = match name {
        "worst_files" => &[1, 4, 9, 10],
        "worst_volumes" => &[1, 3, 8, 9],
        "daily_growth" => &[1, 4, 5],
        _ => &[1, 2, 4, 7],
    };
    let pick = |row: &Vec<String>| places.iter().map(|place| row[*place].clone()).collect();
    let mut rows: Vec<Vec<String>> = rows.iter().map(pick).collect();
    if name == "daily_p95" {
        rows.sort();
    }
    rows
}

#[test]
fn the_queries_give_the_figures_of_the_repository() {
    let Some(server) = Postgres::start() else { return };
    let Some(mut reader) = Reader::start(&server.python_url(), &json!({})) else { return };
    let mut history = server.history();
    fill(&mut history, "sqlserver://db1", day(1), 300);
    fill(&mut history, "sqlserver://db2", day(1), 200);
    history.finish().unwrap();
    let here = figures(&history);
    assert!(here.values().all(|rows| !rows.is_empty()), "{here:?}");
    let directory = tempfile::tempdir().unwrap();
    printed(&lake(&["move", &server.url(), "--to", directory.path().to_str().unwrap()]));
    let queries = queries();
    assert_eq!(queries.len(), 5);
    // The third day began; it is in the lake, too, and not in the figures.
    for (name, sql) in &queries {
        let until =
            |table: &str, time: &str| format!("(SELECT * FROM {table} WHERE {time} < '2026-03-03') AS");
        let sql = sql
            .replace("FROM hours\n", &format!("FROM {} hours\n", until("hours", "hour")))
            .replace("FROM stalls GROUP", &format!("FROM {} stalls GROUP", until("stalls", "hour")))
            .replace("FROM samples GROUP", &format!("FROM {} samples GROUP", until("samples", "taken")));
        let rows = reader.query(&sql);
        assert!(!rows.is_empty(), "{name}");
        if let Some(expected) = here.get(name.as_str()) {
            assert_eq!(&picked(name, &rows), expected, "{name}");
        }
    }
}
