//! What a watched thing is part of: one database, a device's place among the devices, a control group, or nothing
//! smaller than its source. A filter on databases asks for the first of these and leaves the others alone.

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The source as a whole: the server's log, its backends, the host's pressure.
    Source,
    /// The database of this name.
    Database(String),
    /// The host, as a device with this role.
    Device(DeviceRole),
    /// The host's control group of this path.
    Cgroup(String),
}

/// What a block device is to the others: decides whether its requests may be summed with theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceRole {
    /// A whole device at the bottom.
    Disk,
    /// A part of another device, which counts its requests too.
    Partition,
    /// On top of others, which count its requests too: device mapper, RAID, multipath, loop.
    Stacked,
}

impl DeviceRole {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Disk, Self::Partition, Self::Stacked];

    /// Its word in metrics and in stores.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Partition => "partition",
            Self::Stacked => "stacked",
        }
    }

    /// The role with this word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl Scope {
    /// The database called `name`, where a server gives one; many give an empty name for what is in none.
    pub fn database_or_source(name: String) -> Self {
        if name.is_empty() { Self::Source } else { Self::Database(name) }
    }

    /// The database, if it is one.
    pub fn database(&self) -> Option<&str> {
        match self {
            Self::Database(name) => Some(name),
            Self::Source | Self::Device(_) | Self::Cgroup(_) => None,
        }
    }

    /// Its name: of a database or a control group, or the word of a role. Empty for the source.
    pub fn name(&self) -> &str {
        match self {
            Self::Source => "",
            Self::Database(name) | Self::Cgroup(name) => name,
            Self::Device(role) => role.name(),
        }
    }

    /// Which of the four it is. The number is stored: never reuse or renumber.
    pub fn number(&self) -> u8 {
        match self {
            Self::Source => 0,
            Self::Database(_) => 1,
            Self::Device(_) => 2,
            Self::Cgroup(_) => 3,
        }
    }

    /// What has this number and this name; `None` where a newer iostall stored what this one does not know.
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
