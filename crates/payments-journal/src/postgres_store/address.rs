use std::net::IpAddr;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connection::LONGEST_WAIT;
use crate::StoreError;

/// Where the database is and how to get there, out of a URL. It has no `Debug`, because it has the password.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl Address {
    /// Nothing of the URL is repeated in an error: it may hold a password, and a misspelt one may hold it anywhere.
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        let refused = |what: &str| StoreError::refused(format!("the URL of the journal {what}"));
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(refused("begins neither with postgres:// nor postgresql://"));
        }
        // What follows the first one would be taken for a host or a database, and be named in errors.
        if url.matches('@').count() > 1 {
            return Err(refused(
                "holds more than one @: within a user's name or a password it is written %40",
            ));
        }
        // A password may hold a question mark.
        let query = url.find('@').unwrap_or(0);
        let query = url[query..].find('?').map_or(url.len(), |at| query + at);
        let (mut mode, mut root_file) = (None, None);
        let mut others = format!("{}?{DEFAULTS}", &url[..query]);
        for pair in url[query..].trim_start_matches('?').split('&') {
            let decoded = |value| percent_decode_str(value).decode_utf8_lossy().into_owned();
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(decoded(value)),
                Some(("sslrootcert", value)) => root_file = Some(decoded(value)),
                _ => others.extend(["&", pair]),
            }
        }
        let mut config: Config = others.parse().map_err(|_| {
            refused(
                "cannot be read: write postgres://user:password@host:port/database?sslmode=require, \
                 what is special in a name or password percent-encoded, and after the ? only parameters of libpq \
                 that are documented",
            )
        })?;
        let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
        if hosts == 0 {
            return Err(refused("names no host: write postgres://user@host/database"));
        }
        config.ssl_mode(match mode.as_deref() {
            None if is_own_machine(&config) => SslMode::Disable,
            Some("disable") => SslMode::Disable,
            Some("prefer") => SslMode::Prefer,
            None | Some("require" | "verify-full") => SslMode::Require,
            Some(_) => {
                return Err(refused(
                    "has an sslmode that is none of disable, prefer, require and verify-full: \
                     require is as strict here as verify-full",
                ));
            }
        });
        if config.get_connect_timeout().is_none() {
            // One that is down must leave time for the next.
            config.connect_timeout(LONGEST_WAIT / u32::try_from(hosts).unwrap_or(u32::MAX));
        }
        // Of several hosts the one that may be written is meant.
        if hosts > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        Ok(Self { config, tls: tls(root_file.as_deref())? })
    }

    /// The hosts and the database, for errors.
    pub(super) fn place(&self) -> String {
        let names = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(folder) => folder.display().to_string(),
        });
        let hosts: Vec<_> = names.chain(self.config.get_hostaddrs().iter().map(IpAddr::to_string)).collect();
        let database = self.config.get_dbname().map(|database| format!("{database} at "));
        format!("{}{}", database.unwrap_or_default(), hosts.join(", "))
    }
}

/// Parameters that a URL may name anew: what keeps a network that has died from keeping a charge for minutes.
const DEFAULTS: &str = "tcp_user_timeout=20&keepalives_idle=30&keepalives_interval=10&keepalives_retries=3\
     &application_name=payments-journal";

/// Whether no network is between this program and the server.
fn is_own_machine(config: &Config) -> bool {
    let is_loopback = |name: &str| name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let is_own = |host: &Host| match host {
        Host::Tcp(name) => name == "localhost" || is_loopback(name),
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    match config.get_hostaddrs() {
        [] => config.get_hosts().iter().all(is_own),
        addresses => addresses.iter().all(IpAddr::is_loopback),
    }
}

/// TLS that always verifies the certificate and its name: with the authorities of this file and no others, or with those
/// of Mozilla's programme.
fn tls(root_file: Option<&str>) -> Result<MakeRustlsConnect, StoreError> {
    let refused = |what: &str| StoreError::refused(format!("the file that sslrootcert names {what}"));
    let mut roots = RootCertStore::empty();
    if let Some(path) = root_file {
        let certificates = CertificateDer::pem_file_iter(path);
        for certificate in certificates.map_err(|error| refused("cannot be read").because(error))? {
            let certificate = certificate.map_err(|_| refused("is no PEM file"))?;
            roots.add(certificate).map_err(|error| refused("holds what is no certificate").because(error))?;
        }
        if roots.is_empty() {
            return Err(refused("holds no certificate"));
        }
    } else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    // Named, so that no other crate's choice for the whole process can change it or make it panic.
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| {
            StoreError::refused("TLS cannot be set up for the journal's database").because(error)
        })?
        .with_root_certificates(roots)
        .with_no_client_auth();
    // A server that is spoken to in TLS from the first byte on demands it.
    config.alpn_protocols.push(b"postgresql".to_vec());
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn mode(url: &str) -> SslMode {
        Address::parse(url).unwrap().config.get_ssl_mode()
    }

    #[test]
    fn another_machine_is_reached_with_tls_unless_the_url_says_otherwise() {
        assert_eq!(mode("postgres://u:p@db.example/journal"), SslMode::Require);
        assert_eq!(mode("postgres://u:p@10.1.2.3/journal"), SslMode::Require);
        assert_eq!(mode("postgres://u@localhost,db.example/journal"), SslMode::Require);
        assert_eq!(mode("postgres://u@localhost/journal?hostaddr=10.1.2.3"), SslMode::Require);
        assert_eq!(mode("postgres://u@db.example/journal?sslmode=verify-full"), SslMode::Require);
        assert_eq!(mode("postgres://u@localhost/journal?sslmode=require"), SslMode::Require);
        assert_eq!(mode("postgres://u@db.example/journal?sslmode=prefer"), SslMode::Prefer);
        assert_eq!(
            mode("postgres://u@db.example/journal?connect_timeout=3&sslmode=disable"),
            SslMode::Disable
        );
        for own in ["localhost", "127.0.0.1:5433", "[::1]", "%2Fvar%2Frun%2Fpostgresql"] {
            assert_eq!(mode(&format!("postgresql://u@{own}/journal")), SslMode::Disable, "{own}");
        }
    }

    #[test]
    fn parameters_that_are_not_ours_reach_the_library() {
        let url = "postgres://u%40x:p%3Fq@h/d?sslmode=disable&connect_timeout=3&application_name=billing";
        let config = Address::parse(url).unwrap().config;
        assert_eq!(config.get_user(), Some("u@x"));
        assert_eq!(config.get_password(), Some(&b"p?q"[..]));
        assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!(config.get_application_name(), Some("billing"));
    }

    #[test]
    fn of_several_hosts_the_one_that_can_be_written_is_found_in_time() {
        let config = Address::parse("postgres://u@one.example,two.example/d").unwrap().config;
        assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(5)));
        assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
    }

    #[test]
    fn a_url_that_cannot_be_read_is_refused_without_repeating_it() {
        for url in [
            "",
            "mysql://u:s3cret@h/d",
            "postgres://u:s3cret@h/d?s3cret=1",
            "postgres://u:s3cret@h:s3cret/d",
            "postgres://u:p@s3cret@h/d",
            "postgres://u:s3cret@/d",
            "postgres://u:s3cret@h/d?sslmode=s3cret",
            "postgres://u:s3cret@h/d?sslmode=allow",
            "postgres://u:s3cret@h/d?sslrootcert=/there/is/no/such/file",
        ] {
            let error = Address::parse(url).err().unwrap();
            assert!(error.is_refused(), "{url}");
            assert!(!format!("{error:#} {error:?}").contains("s3cret"), "{error:#}");
        }
    }
}
