//! `iostall backup receive`.

use std::path::PathBuf;

use clap::Args;
use iostall_measure::ByteCount;
use iostall_web::receive::ReceiveRequest;

/// Which backups, and from whom.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup receive --keys /etc/iostall/receive.keys --add-key db1 --quota 500G\n  \
    iostall backup receive --keys /etc/iostall/receive.keys --certificate cert.pem --key key.pem /backups\n  \
    iostall backup create --to iostall://repo:7443/db1/shop.iob /var/lib/shop    on the other host, with that key\n\n\
    A client stores new names below its prefix, and lists and reads them. It deletes and replaces nothing: prune on this host.\n\
    A certificate: openssl req -x509 -newkey ed25519 -nodes -days 3650 -subj /CN=repo -keyout key.pem -out cert.pem")]
pub(crate) struct ReceiveArgs {
    /// Store what is received here; each prefix is a directory in it
    #[arg(value_name = "DIR", required_unless_present = "add_key")]
    pub(crate) directory: Option<PathBuf>,
    /// Listen on this address
    #[arg(long, value_name = "HOST:PORT", default_value = "0.0.0.0:7443")]
    pub(crate) listen: String,
    /// Take the keys in this file, which only its owner can read; it is read for each request
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: PathBuf,
    /// Show clients this certificate, in PEM form; others may follow it
    #[arg(long, value_name = "FILE", required_unless_present = "add_key")]
    pub(crate) certificate: Option<PathBuf>,
    /// The certificate's private key, in PEM form, which only its owner can read
    #[arg(long, value_name = "FILE", required_unless_present = "add_key")]
    pub(crate) key: Option<PathBuf>,
    /// Add a key of this name to the file of keys, print it once, and end; the file has its hash alone
    #[arg(long, value_name = "NAME", conflicts_with_all = ["directory", "certificate", "key"])]
    pub(crate) add_key: Option<String>,
    /// The prefix of the key that is added [default: its name]
    #[arg(long, value_name = "PREFIX", requires = "add_key")]
    pub(crate) prefix: Option<String>,
    /// No more than this may lie below the prefix of the key that is added, as in 500G
    #[arg(long, value_name = "SIZE", requires = "add_key")]
    pub(crate) quota: Option<ByteCount>,
}

impl ReceiveArgs {
    /// `None` if there is nothing to receive.
    pub(crate) fn request(&self) -> Option<ReceiveRequest> {
        Some(ReceiveRequest {
            listen: self.listen.clone(),
            keys: self.keys.clone(),
            certificate: self.certificate.clone()?,
            key: self.key.clone()?,
            directory: self.directory.clone()?,
        })
    }
}
