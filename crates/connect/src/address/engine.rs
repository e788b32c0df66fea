//! The engines that can be watched, by the schemes of their URLs.

use std::str::FromStr;

use super::AddressError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Microsoft SQL Server and Azure SQL.
    SqlServer,
    Postgres,
    Mysql,
    /// The Linux host that iostall runs on.
    Linux,
    /// Solid-state drives of this host: a device, a file, or a directory with saved documents.
    Smart,
}

impl Engine {
    pub fn scheme(self) -> &'static str {
        match self {
            Self::SqlServer => "sqlserver",
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
            Self::Linux => "linux",
            Self::Smart => "smart",
        }
    }

    /// Whether it is this machine and nothing else: its URL is the scheme alone.
    pub(super) fn is_this_host(self) -> bool {
        match self {
            Self::Linux => true,
            Self::SqlServer | Self::Postgres | Self::Mysql | Self::Smart => false,
        }
    }

    pub(super) fn default_port(self) -> u16 {
        match self {
            Self::SqlServer => 1433,
            Self::Postgres => 5432,
            Self::Mysql => 3306,
            Self::Linux | Self::Smart => 0,
        }
    }
}

impl FromStr for Engine {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text {
            "sqlserver" | "mssql" => Ok(Self::SqlServer),
            "postgres" | "postgresql" => Ok(Self::Postgres),
            "mysql" | "mariadb" => Ok(Self::Mysql),
            "linux" => Ok(Self::Linux),
            "smart" => Ok(Self::Smart),
            _ => Err(AddressError::Engine(text.to_owned())),
        }
    }
}
