//! Rules about the limits of volumes, which look at several intervals at once.

use std::collections::BTreeMap;

use super::Interval;
use super::state::{Name, Source};
use crate::alert::instance::{AlertInstance, Evidence};
use crate::alert::now::Now;
use crate::alert::rule::Rule;
use crate::alert::volume_limit::VolumeLimit;

impl Source {
    pub(super) fn look_at_limits(
        &mut self,
        place: usize,
        rule: &Rule,
        limit: VolumeLimit,
        found: &BTreeMap<Name, Interval>,
        now: Now,
    ) {
        let interval_ns = self.known.interval_ns;
        let Self { courses, instances, .. } = self;
        let instances = &mut instances[place];
        for (name, interval) in found {
            let course = courses.entry((place, name.clone())).or_default();
            let evidence = if interval.is_broken || !interval.is_whole {
                course.interrupt();
                Evidence::Unknown
            } else {
                course.add(limit, &interval.totals).map_or(Evidence::HoldsNot(None), Evidence::Holds)
            };
            if matches!(evidence, Evidence::Holds(_)) && !instances.contains_key(name) {
                instances.insert(name.clone(), AlertInstance::on(interval.volume.clone()));
            }
            if let Some(instance) = instances.get_mut(name) {
                instance.update(evidence, interval.totals.covered_ns, rule, now);
            }
        }
        courses.retain(|(of, name), _| *of != place || found.contains_key(name));
        for (_, gone) in instances.iter_mut().filter(|(name, _)| !found.contains_key(name)) {
            gone.update(Evidence::HoldsNot(None), interval_ns, rule, now);
        }
    }
}
