use std::net::IpAddr;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connection::MAX_WAIT;
use crate::StoreError;

/// The address of the database, from a URL. It has no `Debug`, because it contains the password.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl Address {
    /// No error repeats any part of the URL, because a misspelled one may have the password anywhere.
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        let refused = |what: &str| StoreError::refused(format!("the URL of the journal {what}"));
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(refused("does not begin with postgres:// or postgresql://"));
        }
        // The text after the first @ would be taken for a host or a database, and appear in errors.
        if url.matches('@').count() > 1 {
            return Err(refused("contains more than one @: write %40 for an @ in a user name or password"));
        }
        // A password may contain a question mark.
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
                 with special characters in a name or password percent-encoded, and only documented libpq parameters \
                 after the ?",
            )
        })?;
        let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
        if hosts == 0 {
            return Err(refused("names no host: write postgres://user@host/database"));
        }
        config.ssl_mode(match mode.as_deref() {
            None if is_local(&config) => SslMode::Disable,
            Some("disable") => SslMode::Disable,
            Some("prefer") => SslMode::Prefer,
            None | Some("require" | "verify-full") => SslMode::Require,
            Some(_) => {
                return Err(refused(
                    "has an unknown sslmode: use disable, prefer, require or verify-full; \
                     here require is as strict as verify-full",
                ));
            }
        });
        if config.get_connect_timeout().is_none() {
            // A host that is down must leave time for the next.
            config.connect_timeout(MAX_WAIT / u32::try_from(hosts).unwrap_or(u32::MAX));
        }
        // With several hosts, the one that can be written is used.
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

/// Parameters that a URL may override. With them, a dead network does not delay a charge for minutes.
const DEFAULTS: &str = "tcp_user_timeout=20&keepalives_idle=30&keepalives_interval=10&keepalives_retries=3\
     &application_name=payments-journal";

/// Whether the server is on this machine.
fn is_local(config: &Config) -> bool {
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

/// TLS that always verifies the certificate and its name, with only the authorities of this file, or with those of Mozilla's
/// program.
fn tls(root_file: Option<&str>) -> Result<MakeRustlsConnect, StoreError> {
    let refused = |what: &str| StoreError::refused(format!("the file that sslrootcert names {what}"));
    let mut roots = RootCertStore::empty();
    if let Some(path) = root_file {
        let certificates = CertificateDer::pem_file_iter(path);
        for certificate in certificates.map_err(|error| refused("cannot be read").because(error))? {
            let certificate = certificate.map_err(|_| refused("is not a PEM file"))?;
            roots
                .add(certificate)
                .map_err(|error| refused("contains something that is not a certificate").because(error))?;
        }
        if roots.is_empty() {
            return Err(refused("contains no certificate"));
        }
    } else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    // An explicit provider, so that another crate's process-wide choice cannot change it or make it panic.
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| {
            StoreError::refused("TLS cannot be set up for the journal's database").because(error)
        })?
        .with_root_certificates(roots)
        .with_no_client_auth();
    // Required by a server that expects TLS from the first byte.
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
    fn remote_server_requires_tls_unless_the_url_disables_it() {
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
    fn other_parameters_are_passed_to_the_library() {
        let url = "postgres://u%40x:p%3Fq@h/d?sslmode=disable&connect_timeout=3&application_name=billing";
        let config = Address::parse(url).unwrap().config;
        assert_eq!(config.get_user(), Some("u@x"));
        assert_eq!(config.get_password(), Some(&b"p?q"[..]));
        assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!(config.get_application_name(), Some("billing"));
    }

    #[test]
    fn several_hosts_share_the_timeout_and_need_a_writable_one() {
        let config = Address::parse("postgres://u@one.example,two.example/d").unwrap().config;
        assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(5)));
        assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
    }

    #[test]
    fn unreadable_url_is_refused_and_not_shown() {
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
