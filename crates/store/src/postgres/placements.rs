//! What is said of servers, and what lies on what.

use iostall_model::device::{Greeting, IdentityKind, Placement};

use super::columns::{UtcMicros, storable};
use super::database::Database;
use super::session::Values;
use super::statements;
use crate::error::StoreError;
use crate::history::{SourceId, StoreId};
use crate::repository_error::RepositoryError;

type Texts = Vec<String>;

impl Database {
    pub(super) fn greet(&self, store: StoreId, greeting: &Greeting) -> Result<(), RepositoryError> {
        let Greeting { hostname, version, now } = greeting;
        let (id, hostname, version) = (store.to_string(), storable(hostname), storable(version));
        let values: Values<'_> = &[&id, &hostname.as_ref(), &version.as_ref(), &UtcMicros::of(*now)];
        self.session.execute(statements::GREET_SERVER, values).map(drop)
    }

    pub(super) fn place(&self, source: SourceId, placements: &[Placement]) -> Result<(), StoreError> {
        let number = self.number(source)?;
        for sql in [statements::PUT_VOLUMES, statements::END_SERIES_VOLUMES, statements::PUT_SERIES_VOLUMES] {
            self.session.execute_later(sql, vec![Box::new(number.0)])?;
        }
        let (mut volumes, mut kinds, mut identities): (Texts, Texts, Texts) = Default::default();
        let mut models: Vec<Option<String>> = Vec::new();
        for placement in placements {
            for device in &placement.devices {
                volumes.push(storable(&placement.volume).into_owned());
                kinds.push(device.kind.name().to_owned());
                identities.push(storable(&device.identity).into_owned());
                models.push(device.model.as_deref().map(|model| storable(model).into_owned()));
            }
        }
        self.session.execute(statements::PUT_DEVICES, &[&kinds, &identities, &models])?;
        let seen: Texts =
            placements.iter().map(|placement| storable(&placement.volume).into_owned()).collect();
        let values: Values<'_> = &[&number.0, &volumes, &kinds, &identities, &seen];
        self.session.execute(statements::END_VOLUME_DEVICES, values)?;
        self.session.execute(statements::PUT_VOLUME_DEVICES, &values[..4])?;
        Ok(())
    }

    pub(super) fn tag(
        &self,
        source: &str,
        volume: &str,
        server: Option<&str>,
        tag: &str,
    ) -> Result<(), RepositoryError> {
        let (named, tag) = (storable(volume), storable(tag));
        let rows = self
            .session
            .rows(statements::FIND_VOLUMES, &[&storable(source).as_ref(), &named.as_ref(), &server])?;
        let name = self.session.name().to_owned();
        let number: i32 = match rows.as_slice() {
            [] => {
                let (source, volume) = (source.to_owned(), volume.to_owned());
                return Err(RepositoryError::NoVolume { name, source_name: source, volume });
            }
            [one] => self.column(one, 0)?,
            several => {
                let servers = several.iter().map(|row| self.column(row, 1)).collect::<Result<_, _>>()?;
                return Err(RepositoryError::SeveralVolumes { name, volume: volume.to_owned(), servers });
            }
        };
        let kinds = vec![IdentityKind::Tag.name().to_owned()];
        let models: Vec<Option<String>> = vec![None];
        self.session.execute(statements::PUT_DEVICES, &[&kinds, &vec![tag.to_string()], &models])?;
        for sql in [statements::END_TAGS, statements::PUT_TAG] {
            self.session.execute(sql, &[&number, &tag.as_ref()])?;
        }
        Ok(())
    }
}
