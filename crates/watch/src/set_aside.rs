//! Documents in a store that this iostall does not understand, as a newer one leaves them: they are kept under another name and told, and
//! what they were for begins anew.

use iostall_store::{CollectorState, REMOVED_NOTES, SheetNote, StoreError};
use serde::de::DeserializeOwned;

use crate::pull::is_spool_state;
use crate::{alerting, confirmed, push, reported_volumes};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    pub name: String,
    pub kept_as: String,
}

/// Sets aside what is not understood in `store`.
pub fn set_aside(store: &mut impl CollectorState) -> Result<Vec<SetAside>, StoreError> {
    let mut all = Vec::new();
    for name in store.state_names()? {
        if let Some(text) = store.state(&name)?
            && !is_understood(&name, &text)
        {
            let kept_as = store.set_state_aside(&name)?;
            all.push(SetAside { name, kept_as });
        }
    }
    Ok(all)
}

fn is_understood(name: &str, text: &str) -> bool {
    match name {
        alerts if alerts.starts_with(alerting::MEMORY) => is::<alerting::Memory>(text),
        pushed if pushed.starts_with(push::PUSHED) => push::is_positions(text),
        runs if runs.starts_with(push::PUSHED_RUNS) => push::is_position_of_runs(text),
        reported_volumes::STATE => is::<reported_volumes::Document>(text),
        confirmed::STATE => is::<confirmed::Document>(text),
        REMOVED_NOTES => is::<Vec<SheetNote>>(text),
        name => is_spool_state(name, text).unwrap_or(true),
    }
}

fn is<T: DeserializeOwned>(text: &str) -> bool {
    serde_json::from_str::<T>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use iostall_store::SqliteHistory;

    use super::*;

    /// After one night with an older iostall alerts that were firing were forgotten, and samples were pushed again.
    #[test]
    fn what_a_newer_iostall_left_is_kept_under_another_name_and_told() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = SqliteHistory::open(directory.path().join("s.db")).unwrap();
        let newer = "{\"alerts\": 7}";
        let names = [
            "alerts of /etc/iostall/collector.toml",
            "pushed to http://h/",
            "runs pushed to http://h/",
            "volumes",
            "fleet",
            "pull",
            "removed-notes",
        ];
        for name in names {
            store.put_state(name, newer).unwrap();
        }
        store.put_state("taken by http://h/", "true").unwrap();
        let mut aside: Vec<String> = set_aside(&mut store).unwrap().into_iter().map(|one| one.name).collect();
        aside.sort();
        let mut all = names.map(str::to_owned);
        all.sort();
        assert_eq!(aside, all);
        assert_eq!(store.state("fleet").unwrap(), None);
        let kept = store.state_names().unwrap().into_iter().filter(|name| name.contains("fleet"));
        let kept: Vec<String> = kept.map(|name| store.state(&name).unwrap().unwrap()).collect();
        assert_eq!(kept, [newer]);
        assert_eq!(set_aside(&mut store).unwrap(), [], "once");
    }
}
