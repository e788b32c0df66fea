//! Encrypted connections to real servers, with certificates made for the test.

use std::path::{Path, PathBuf};

use iostall_collect::SourceError;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};

use crate::servers::mariadb::Mariadb;
use crate::servers::postgres::Postgres;
use crate::servers::{chown_to_nobody, directory, read, skip, source, until};

/// What a server shows and whom to trust for it, as files. The certificate is for `localhost` and no other name.
struct Certificates {
    directory: tempfile::TempDir,
}

impl Certificates {
    fn make() -> Self {
        let made = Self { directory: directory() };
        let authority = authority();
        let key = KeyPair::generate().unwrap();
        let server = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let server = server.signed_by(&key, &authority).unwrap();
        made.write("ca.pem", &authority.pem());
        made.write("other.pem", &self::authority().pem());
        made.write("server.pem", &server.pem());
        made.write("server.key", &key.serialize_pem());
        made.add("server.cer", server.der());
        made.add("ca.cer", authority.der());
        made
    }

    /// Certificates as `openssl req -x509` makes them: the server's own signs itself and may sign others. It names a host
    /// that nobody asks for.
    fn signing_itself(until: i32) -> Self {
        let made = Self { directory: directory() };
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["db.example".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = date_time_ymd(until, 1, 1);
        let server = params.self_signed(&key).unwrap();
        made.write("server.pem", &server.pem());
        made.write("server.key", &key.serialize_pem());
        made.add("server.cer", server.der());
        made.write("other.pem", &self::authority().pem());
        made
    }

    fn add(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Keys that others may read are refused by the servers.
    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        chown_to_nobody(&path);
    }
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Every way to be asked for encryption, at a server that takes nothing else from this login.
fn is_held_to(scheme: &str, port: u16, certificates: &Certificates) {
    let url = |host: &str, tls: &str| format!("{scheme}://iostall@{host}:{port}?{tls}");
    let ca = |name: &str| format!("ca={}", certificates.path(name).display());

    read(source(&url("localhost", &ca("ca.pem"))).as_mut());
    read(source(&url("localhost", &ca("ca.cer"))).as_mut());
    read(source(&url("127.0.0.1", "tls=unverified")).as_mut());

    let refused = |url: &str| source(url).read().expect_err("not to be trusted");
    let plain = refused(&url("localhost", "tls=off"));
    assert!(matches!(plain, SourceError::Login { .. }), "{plain}");
    let unknown = "it was not issued by a trusted authority";
    for (url, fault, advice) in [
        (url("localhost", &ca("other.pem")), unknown, "?ca=FILE"),
        (url("localhost", "tls=on"), unknown, "?ca=FILE"),
        (
            url("127.0.0.1", &ca("ca.pem")),
            "it is for localhost and not for 127.0.0.1",
            "as in the certificate",
        ),
    ] {
        let error = refused(&url);
        assert!(matches!(error, SourceError::Certificate { .. }), "{url}: {error}");
        assert!(error.to_string().contains(fault), "{url}: {error}");
        assert!(error.hint().contains(advice), "{url}: {}", error.hint());
    }
}

fn setting(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

#[test]
fn postgres_is_asked_in_private_and_only_where_its_certificate_is_good() {
    let certificates = Certificates::make();
    let Some(server) = postgres_with(&certificates) else {
        return skip("PostgreSQL 15 is not installed: TLS to it was not tested");
    };
    is_held_to("postgres", server.port, &certificates);
}

/// A PostgreSQL 15 that shows these certificates and lets the login in over TLS alone.
fn postgres_with(certificates: &Certificates) -> Option<Postgres> {
    let hba =
        "local all all trust\nhost all postgres 127.0.0.1/32 trust\nhostssl all iostall 127.0.0.1/32 trust\n";
    certificates.write("pg_hba.conf", hba);
    let files =
        [("ssl_cert_file", "server.pem"), ("ssl_key_file", "server.key"), ("hba_file", "pg_hba.conf")];
    let files = files.map(|(name, file)| setting(name, &certificates.path(file)));
    let settings = ["ssl=on", &files[0], &files[1], &files[2]];
    let server = Postgres::start_in(directory(), 15, None, &settings)?;
    server.sql("CREATE ROLE iostall LOGIN");
    Some(server)
}

/// Many servers inside a company have a certificate that signs itself. `?ca=` refused it with `CaUsedAsEndEntity`, and
/// what was left was not to ask who answers.
#[test]
fn postgres_is_known_by_its_own_certificate_that_signs_itself() {
    let certificates = Certificates::signing_itself(2400);
    let Some(server) = postgres_with(&certificates) else {
        return skip("PostgreSQL 15 is not installed: certificates that sign themselves were not tested");
    };
    let url = |host: &str, file: &str| {
        format!("postgres://iostall@{host}:{}?ca={}", server.port, certificates.path(file).display())
    };
    for host in ["localhost", "127.0.0.1"] {
        for file in ["server.pem", "server.cer"] {
            read(source(&url(host, file)).as_mut());
        }
    }
    let error = source(&url("localhost", "other.pem")).read().unwrap_err();
    assert!(
        error.to_string().ends_with("it is an authority's certificate and not one issued to a server"),
        "{error}"
    );
    assert!(error.hint().contains("?ca=FILE with this certificate"), "{}", error.hint());
}

#[test]
fn a_certificate_that_has_expired_is_refused_though_it_is_the_very_one() {
    let certificates = Certificates::signing_itself(2020);
    let Some(server) = postgres_with(&certificates) else {
        return skip("PostgreSQL 15 is not installed: expired certificates were not tested");
    };
    let ca = certificates.path("server.pem");
    let error = source(&format!("postgres://iostall@localhost:{}?ca={}", server.port, ca.display()))
        .read()
        .unwrap_err();
    assert!(error.to_string().ends_with("it expired on 2020-01-01"), "{error}");
    assert!(error.hint().contains("renew"), "{}", error.hint());
}

#[test]
fn mariadb_is_asked_in_private_and_only_where_its_certificate_is_good() {
    let certificates = Certificates::make();
    let files = [("--ssl-cert", "server.pem"), ("--ssl-key", "server.key"), ("--ssl-ca", "ca.pem")];
    let files = files.map(|(name, file)| setting(name, &certificates.path(file)));
    let settings: Vec<&str> = files.iter().map(String::as_str).collect();
    let Some(server) = Mariadb::start_in(directory(), true, &settings) else {
        return skip("MariaDB is not installed: TLS to it was not tested");
    };
    until("TLS", || {
        (server.number(include_str!("../../testdata/sql/mariadb_has_tls.sql")) == 1).then_some(())
    });
    server.sql("CREATE USER 'iostall'@'%' IDENTIFIED BY 'secret' REQUIRE SSL");
    is_held_to("mysql", server.port, &certificates);
}
