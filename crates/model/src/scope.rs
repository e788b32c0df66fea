//! What a watched subject is part of: a database, a role among the block devices, a control group, or just
//! its source. A filter on databases applies only to the first of these.

use iostall_measure::named;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The source as a whole: the server's log, its backends, the host's pressure.
    Source,
    Database(String),
    Device(DeviceRole),
    Cgroup(String),
}

named! {
    /// The relation of a block device to others, which decides whether their requests may be summed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum DeviceRole {
        /// A whole device at the bottom.
        Disk = "disk",
        /// Part of another device, which counts its requests too.
        Partition = "partition",
        /// On top of others, which count its requests too: device mapper, RAID, multipath, loop.
        Stacked = "stacked",
    }
}

impl Scope {
    /// The database `name`, or the source if the name is empty, as many servers report for objects outside
    /// databases.
    pub fn database_or_source(name: String) -> Self {
        if name.is_empty() { Self::Source } else { Self::Database(name) }
    }

    pub fn database(&self) -> Option<&str> {
        match self {
            Self::Database(name) => Some(name),
            Self::Source | Self::Device(_) | Self::Cgroup(_) => None,
        }
    }

    /// The name of a database, a control group or a role. Empty for the source.
    pub fn name(&self) -> &str {
        match self {
            Self::Source => "",
            Self::Database(name) | Self::Cgroup(name) => name,
            Self::Device(role) => role.name(),
        }
    }

    /// Number of the variant. It is stored: never reuse or renumber.
    pub fn number(&self) -> u8 {
        match self {
            Self::Source => 0,
            Self::Database(_) => 1,
            Self::Device(_) => 2,
            Self::Cgroup(_) => 3,
        }
    }

    /// The scope with this number and name; `None` if a newer iostall stored one that is unknown here.
    pub fn from_stored(number: u8, name: String) -> Option<Self> {
        match number {
            0 => Some(Self::Source),
            1 => Some(Self::Database(name)),
            2 => DeviceRole::named(&name).map(Self::Device),
            3 => Some(Self::Cgroup(name)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_reads_back_from_its_number_and_its_name() {
        let roles = DeviceRole::ALL.into_iter().map(Scope::Device);
        let named = [Scope::Source, Scope::Database("disk".into()), Scope::Cgroup("/db.slice".into())];
        for scope in named.into_iter().chain(roles) {
            assert_eq!(Scope::from_stored(scope.number(), scope.name().to_owned()), Some(scope.clone()));
        }
        assert_eq!(Scope::from_stored(9, "x".into()), None);
        assert_eq!(Scope::from_stored(2, "tape".into()), None);
    }

    #[test]
    fn a_database_may_be_called_as_a_role_is() {
        assert_eq!(Scope::Database("disk".into()).database(), Some("disk"));
        assert_eq!(Scope::Device(DeviceRole::Disk).database(), None);
        assert_eq!(Scope::database_or_source(String::new()), Scope::Source);
    }
}
