//! What outlives a process, and a change of the rules.

use super::grouping::about;
use super::{Name, Source};
use crate::alert::instance::Due;
use crate::alert::mute::Now;
use crate::alert::notice::{Notice, Occasion, SavedAlert, SavedTimes};
use crate::alert::rule::Rule;

impl Source {
    /// Goes on with an alert of the rule at `place`. Whether the rule is still about such a thing.
    pub(super) fn take_up(&mut self, place: usize, rule: &Rule, saved: &SavedAlert, now: Now) -> bool {
        let SavedAlert { notice, times } = saved;
        match &notice.about {
            None if !rule.condition.is_about_parts() => {
                self.silence[place].restore(times, now);
            }
            Some(about) if rule.condition.is_about_parts() => {
                let name = Name { kind: about.kind, group: about.name.clone(), class: about.class.clone() };
                let instance = self.instances[place].entry(name).or_default();
                instance.volume.clone_from(&about.volume);
                instance.restore(times, now);
            }
            _ => return false,
        }
        true
    }

    /// Notices that what people were notified of is over, because nobody looks any more.
    pub(super) fn farewell(&self, place: usize, rule: &Rule, now: Now) -> Vec<Notice> {
        self.saved_of(place, rule, now).into_iter().map(|saved| saved.resolved(now)).collect()
    }

    pub(super) fn saved_of(&self, place: usize, rule: &Rule, now: Now) -> Vec<SavedAlert> {
        let firing_notice = |group: String, times: &SavedTimes| {
            let due = Due { since: times.since, lasted_ns: 0, value_max: times.value_max };
            Notice { firing_count: 1, ..self.notice(rule, Occasion::Firing, &due, group, now) }
        };
        let silence = self.silence.get(place).and_then(|silence| silence.saved(now));
        let silence = silence.map(|times| SavedAlert {
            notice: firing_notice(self.group_name(rule, None, None), &times),
            times,
        });
        let instances = self.instances.get(place).into_iter().flatten();
        let firing = instances.filter_map(|(name, instance)| {
            let times = instance.saved(now)?;
            let group = self.group_name(rule, Some(name), instance.volume.as_deref());
            let about = Some(about(rule, name, instance, times.value_max));
            Some(SavedAlert { notice: Notice { about, ..firing_notice(group, &times) }, times })
        });
        silence.into_iter().chain(firing).collect()
    }
}

impl SavedAlert {
    /// The notice that it is over, though nobody saw it end.
    pub(super) fn resolved(self, now: Now) -> Notice {
        let lasted_ns = now.utc.duration_since(self.times.since).as_nanos();
        Notice {
            occasion: Occasion::Resolved,
            at: now.utc,
            lasted_ns: u64::try_from(lasted_ns).unwrap_or(0),
            firing_count: 0,
            ..self.notice
        }
    }
}
