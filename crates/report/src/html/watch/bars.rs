//! The charts of a comparison: both windows side by side.

use serde_json::{Value, json};

use super::lines::group_name;
use iostall_watch::windows::{Pair, WatchComparison};

use crate::chart::{COLOURS, Chart, drawn, figure, rate_axis, rounded, trace_name};
use crate::watch::columns::{ROOM, stall_label};

/// More bars cannot be read.
const GROUPS_MAX: usize = 12;

pub(super) fn charts(comparison: &WatchComparison) -> Vec<Chart> {
    let mut pairs = comparison.pairs(ROOM);
    pairs.retain(|pair| !pair.is_idle());
    pairs.truncate(GROUPS_MAX);
    // Two bars of the same name would be merged.
    let several = comparison.sources().len() > 1;
    let name = |pair: &Pair<'_>| {
        let name = trace_name(&group_name(pair.key, several), &stall_label(pair.key.kind));
        name.trim_end().to_owned()
    };
    let names: Vec<String> = pairs.iter().map(name).collect();
    let bar = |window: &str, colour: &str, hover: &str, values: Vec<Option<f64>>| -> Option<Value> {
        values.iter().any(Option::is_some).then(|| {
            let values: Vec<Option<f64>> = values.into_iter().map(|value| value.map(rounded)).collect();
            json!({
                "type": "bar", "name": window, "x": names, "y": values,
                "marker": {"color": colour}, "hovertemplate": hover,
            })
        })
    };
    let of =
        |value: &dyn Fn(&Pair<'_>) -> Option<f64>| -> Vec<Option<f64>> { pairs.iter().map(value).collect() };
    let stall_hover = "%{y:.3~s}s";
    let stall = [
        bar(
            "before",
            COLOURS[0],
            stall_hover,
            of(&|pair| Some(pair.before?.totals.io_stall_ns_mean()? / 1e9)),
        ),
        bar("after", COLOURS[1], stall_hover, of(&|pair| Some(pair.after?.totals.io_stall_ns_mean()? / 1e9))),
        bar(
            "after, at the mix of before",
            COLOURS[2],
            stall_hover,
            of(&|pair| Some(pair.stall_ms_at_mix().after? / 1e3)),
        ),
    ];
    let rate_hover = "%{y:,.3~f} a second";
    let rates = [
        bar("before", COLOURS[0], rate_hover, of(&|pair| pair.before?.totals.iops())),
        bar("after", COLOURS[1], rate_hover, of(&|pair| pair.after?.totals.iops())),
    ];
    let chart = |id: &'static str, title: &'static str, caption, bars: Vec<Value>, axis: &Value| {
        let names = json!({"title": {"text": ""}, "type": "category"});
        Chart { id: id.into(), title: title.into(), caption, figure: figure(&bars, &names, axis, "closest") }
    };
    drawn(vec![
        chart(
            "stall",
            "Stall per I/O",
            "No bar where there was no I/O. At one mix, a change of the share of writes alone changes nothing.",
            stall.into_iter().flatten().collect(),
            &json!({"title": {"text": "stall"}, "tickformat": "~s", "ticksuffix": "s", "rangemode": "tozero"}),
        ),
        chart(
            "rates",
            "Reads and writes a second",
            "The load of each window, by which their stalls are to be judged.",
            rates.into_iter().flatten().collect(),
            &rate_axis("a second"),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_watch::windows::{SourceHistory, fixture};

    fn names(comparison: &WatchComparison) -> Vec<Value> {
        charts(comparison)[0].figure["data"][0]["x"].as_array().unwrap().clone()
    }

    #[test]
    fn files_of_one_name_on_two_servers_have_a_bar_each() {
        let mut comparison = fixture::comparison();
        let one = names(&comparison).len();
        for report in [&mut comparison.before, &mut comparison.after] {
            let other = "sqlserver://db2:1433";
            let groups: Vec<_> = report.window.groups.clone().into_iter().collect();
            for (mut key, group) in groups {
                key.source = other.into();
                report.window.groups.insert(key, group);
            }
            let twin = SourceHistory { name: other.into(), ..report.sources[0].clone() };
            report.sources.push(twin);
        }
        let mut names: Vec<String> = names(&comparison).iter().map(Value::to_string).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2 * one, "{names:?}");
    }
}
