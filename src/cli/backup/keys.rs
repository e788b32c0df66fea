//! Keys of encrypted backups.

use std::path::PathBuf;

use clap::Args;
use iostall_transfer::backup::codec::{KeyError, Lock, PassphraseSource, Unlock};

/// Who will be able to read a backup.
#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    /// Encrypt for this public key of age (age1…); repeat it for a second key: who loses the only one has lost the
    /// backup
    #[arg(long, value_name = "KEY", help_heading = "Encryption")]
    pub(crate) encrypt_to: Vec<String>,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArgs,
}

/// How a backup is opened.
#[derive(Debug, Args)]
pub(crate) struct UnlockArgs {
    /// A file with a secret key of age (AGE-SECRET-KEY-1…), as age-keygen writes it; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "Encryption")]
    pub(crate) key_file: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArgs,
}

/// Where a passphrase comes from. Never from the command line, which every user of the machine can read.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct PassphraseArgs {
    /// The passphrase is the first line of this file
    #[arg(long, value_name = "FILE", help_heading = "Encryption")]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// The passphrase is the first line that this open file descriptor gives
    #[arg(long, value_name = "N", help_heading = "Encryption")]
    pub(crate) passphrase_fd: Option<u32>,
    /// Ask for the passphrase at the terminal
    #[arg(long, help_heading = "Encryption")]
    pub(crate) passphrase: bool,
}

impl PassphraseArgs {
    fn source(&self) -> Option<PassphraseSource> {
        let file = self.passphrase_file.clone().map(PassphraseSource::File);
        let descriptor = self.passphrase_fd.map(PassphraseSource::Descriptor);
        file.or(descriptor).or(self.passphrase.then_some(PassphraseSource::Terminal))
    }

    fn words(&self) -> Vec<String> {
        let file = self.passphrase_file.iter().map(|file| file.to_string_lossy().into_owned());
        let file = file.flat_map(|file| ["--passphrase-file".to_owned(), file]);
        let descriptor = self.passphrase_fd.iter();
        let descriptor = descriptor.flat_map(|fd| ["--passphrase-fd".to_owned(), fd.to_string()]);
        let ask = self.passphrase.then(|| "--passphrase".to_owned());
        file.chain(descriptor).chain(ask).collect()
    }
}

impl LockArgs {
    /// The same options, as words of another command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let keys = self.encrypt_to.iter().flat_map(|key| ["--encrypt-to".to_owned(), key.clone()]);
        keys.chain(self.passphrase.words()).collect()
    }

    /// `None` where the backup is not encrypted.
    pub(crate) fn lock(&self) -> Result<Option<Lock>, KeyError> {
        let recipients = (!self.encrypt_to.is_empty()).then(|| Lock::Recipients(self.encrypt_to.clone()));
        let lock = match (recipients, self.passphrase.source()) {
            (Some(_), Some(_)) => return Err(KeyError::Both),
            (Some(recipients), None) => Some(recipients),
            (None, Some(source)) => Some(Lock::Passphrase(source.read(true)?)),
            (None, None) => None,
        };
        lock.as_ref().map_or(Ok(()), Lock::check)?;
        Ok(lock)
    }
}

impl UnlockArgs {
    /// The same options, as words of another command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let files = self.key_file.iter().map(|file| file.to_string_lossy().into_owned());
        let files = files.flat_map(|file| ["--key-file".to_owned(), file]);
        files.chain(self.passphrase.words()).collect()
    }

    /// `None` where no key was named.
    pub(crate) fn unlock(&self) -> Result<Option<Unlock>, KeyError> {
        let files = (!self.key_file.is_empty()).then(|| Unlock::KeyFiles(self.key_file.clone()));
        Ok(match (files, self.passphrase.source()) {
            (Some(_), Some(_)) => return Err(KeyError::Both),
            (Some(files), None) => Some(files),
            (None, Some(source)) => Some(Unlock::Passphrase(source.read(false)?)),
            (None, None) => None,
        })
    }
}
