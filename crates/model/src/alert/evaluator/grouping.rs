//! What goes out together.

use std::collections::BTreeMap;

use super::{Name, Source};
use crate::alert::instance::{AlertInstance, Due};
use crate::alert::mute::Now;
use crate::alert::notice::{About, Notice, Occasion};
use crate::alert::rule::{Condition, Grouping, LastDrill, Measured, Rule};

/// How many things are named after the worst one.
const OTHERS_MAX: usize = 4;

/// Things that go into one notice, and how long the first of them has waited.
#[derive(Default)]
struct Group {
    names: Vec<Name>,
    waited_ns: u64,
}

impl Source {
    pub(super) fn notify(&mut self, place: usize, rule: &Rule, now: Now, notices: &mut Vec<Notice>) {
        if let Some(waiting) = self.silence[place].waiting(rule, now)
            && let Some(due) = self.silence[place].notify(waiting.occasion, now)
        {
            let is_firing = self.silence[place].is_known_to_fire();
            let group = self.group_name(rule, None, None);
            let notice = self.notice(rule, waiting.occasion, &due, group, now);
            notices.push(Notice { firing_count: u64::from(is_firing), ..notice });
        }
        let mut groups: BTreeMap<(u8, String), Group> = BTreeMap::new();
        for (name, instance) in &self.instances[place] {
            if let Some(waiting) = instance.waiting(rule, now) {
                let key =
                    (order(waiting.occasion), self.group_name(rule, Some(name), instance.volume.as_deref()));
                let group = groups.entry(key).or_default();
                group.names.push(name.clone());
                group.waited_ns = group.waited_ns.max(waiting.waited_ns);
            }
        }
        for ((order, key), group) in groups {
            // Whoever is notified again has waited long enough.
            let occasion = OCCASIONS[usize::from(order)];
            if occasion == Occasion::StillFiring || group.waited_ns >= rule.group_wait_ns {
                notices.extend(self.group_notice(place, rule, occasion, key, &group.names, now));
            }
        }
        self.instances[place].retain(|_, instance| !instance.is_idle());
    }

    /// The notice of a group. Everything in it counts as notified.
    fn group_notice(
        &mut self,
        place: usize,
        rule: &Rule,
        occasion: Occasion,
        group: String,
        names: &[Name],
        now: Now,
    ) -> Option<Notice> {
        let mut all: Vec<(About, Due)> = Vec::new();
        for name in names {
            let instance = self.instances[place].get_mut(name)?;
            let due = instance.notify(occasion, now)?;
            all.push((about(rule, name, instance, due.value_max), due));
        }
        let badness = |about: &About| match about.value.filter(|_| occasion != Occasion::Resolved) {
            Some(value) => value,
            // Never is longer than any age.
            None if about.measured == Measured::BackupAge => f64::INFINITY,
            None => about.value_max,
        };
        all.sort_by(|(one, _), (other, _)| badness(other).total_cmp(&badness(one)));
        let count = all.len() as u64;
        let longest_ns = all.iter().map(|(_, due)| due.lasted_ns).max()?;
        let since = all.iter().map(|(_, due)| due.since).min()?;
        let mut abouts = all.into_iter().map(|(about, _)| about);
        let worst = abouts.next();
        let others = abouts.take(OTHERS_MAX).collect();
        let firing = self.instances[place].iter().filter(|(name, instance)| {
            instance.is_known_to_fire()
                && self.group_name(rule, Some(name), instance.volume.as_deref()) == group
        });
        let firing_count = firing.count() as u64;
        let due = Due { since, lasted_ns: longest_ns, value_max: 0.0 };
        let notice = self.notice(rule, occasion, &due, group, now);
        Some(Notice { about: worst, others, count, firing_count, ..notice })
    }

    pub(super) fn notice(
        &self,
        rule: &Rule,
        occasion: Occasion,
        due: &Due,
        group: String,
        now: Now,
    ) -> Notice {
        Notice {
            occasion,
            rule: rule.name.clone(),
            channels: rule.channels.clone(),
            source: self.known.name.clone(),
            about: None,
            drill: LastDrill::of(&rule.condition),
            others: Vec::new(),
            count: 1,
            firing_count: 0,
            group,
            since: due.since,
            at: now.utc,
            lasted_ns: due.lasted_ns,
        }
    }

    pub(super) fn group_name(&self, rule: &Rule, name: Option<&Name>, volume: Option<&str>) -> String {
        let source = &self.known.name;
        let part = match rule.grouping {
            Grouping::Source => None,
            Grouping::Volume => volume,
            Grouping::Each => name.map(|name| name.group.as_str()),
        };
        match part {
            Some(part) => format!("{} | {source} | {part}", rule.name),
            None => format!("{} | {source}", rule.name),
        }
    }
}

pub(super) fn about(rule: &Rule, name: &Name, instance: &AlertInstance, value_max: f64) -> About {
    let measured = match rule.condition {
        Condition::Over { measured, .. } => measured,
        Condition::Limit(limit) => Measured::of_limit(limit),
        // There are instances of groups only where something is measured.
        Condition::NotBackedUp { .. } => Measured::BackupAge,
        Condition::Silent | Condition::Undrilled { .. } => Measured::Iops,
    };
    let threshold = match rule.condition {
        Condition::NotBackedUp { .. } => rule.sustained_ns as f64,
        _ => rule.condition.threshold(name.class.as_deref()).unwrap_or(f64::MAX),
    };
    About {
        level: rule.level,
        kind: name.kind,
        name: name.group.clone(),
        class: name.class.clone(),
        volume: instance.volume.clone(),
        measured,
        threshold,
        value: instance.value,
        value_max,
    }
}

/// What ends is said before what begins.
const OCCASIONS: [Occasion; 3] = [Occasion::Resolved, Occasion::Firing, Occasion::StillFiring];

fn order(occasion: Occasion) -> u8 {
    match occasion {
        Occasion::Resolved => 0,
        Occasion::Firing | Occasion::Test => 1,
        Occasion::StillFiring => 2,
    }
}
