use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::link::LONGEST_OPENING;
use super::tls;
use crate::StoreError;

/// Where the database is and how to get there, out of a URL.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl Address {
    /// Nothing of the URL is repeated in an error: it may hold a password, and a misspelt one may hold it anywhere.
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        let parameters = Parameters::split(url)?;
        let mut config: Config = parameters.rest.parse().map_err(|_| {
            StoreError::refused(
                "the URL of the journal cannot be read: write postgres://user:password@host:port/database?sslmode=require, \
                 what is special in a name or password percent-encoded, and after the ? only parameters of libpq \
                 that are documented",
            )
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(StoreError::refused(
                "the URL of the journal names no host: write postgres://user@host/database",
            ));
        }
        config.ssl_mode(ssl_mode(parameters.ssl_mode.as_deref(), &config)?);
        let tls = tls::connector(parameters.root_file.as_deref())?;
        add_defaults(&mut config);
        Ok(Self { config, tls })
    }

    /// The hosts and the database, for errors.
    pub(super) fn place(&self) -> String {
        let name = |host: &Host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(folder) => folder.display().to_string(),
        };
        let mut hosts: Vec<_> = self.config.get_hosts().iter().map(name).collect();
        if hosts.is_empty() {
            hosts = self.config.get_hostaddrs().iter().map(IpAddr::to_string).collect();
        }
        match self.config.get_dbname() {
            Some(database) => format!("{database} at {}", hosts.join(", ")),
            None => hosts.join(", "),
        }
    }
}

/// The parameters that this crate reads itself, and the URL without them.
struct Parameters {
    rest: String,
    ssl_mode: Option<String>,
    root_file: Option<String>,
}

impl Parameters {
    fn split(url: &str) -> Result<Self, StoreError> {
        let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme));
        if !is_url {
            return Err(StoreError::refused(
                "the URL of the journal begins neither with postgres:// nor postgresql://",
            ));
        }
        // Whatever stands behind the first one is taken for a host or a database, and told to others.
        if url.matches('@').count() > 1 {
            return Err(StoreError::refused(
                "the URL of the journal holds more than one @: within a user's name or a password it is written %40",
            ));
        }
        let end_of_credentials = url.find('@').unwrap_or(0);
        let Some(question) = url[end_of_credentials..].find('?').map(|at| at + end_of_credentials) else {
            return Ok(Self { rest: url.to_owned(), ssl_mode: None, root_file: None });
        };
        let (place, query) = (&url[..question], &url[question + 1..]);
        let value = |wanted: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let last = pairs.rfind(|(name, _)| *name == wanted)?.1;
            Some(percent_decode_str(last).decode_utf8_lossy().into_owned())
        };
        let is_ours =
            |pair: &&str| ["sslmode", "sslrootcert"].iter().any(|name| pair.split('=').next() == Some(name));
        let others: Vec<_> = query.split('&').filter(|pair| !pair.is_empty() && !is_ours(pair)).collect();
        let rest = if others.is_empty() { place.to_owned() } else { format!("{place}?{}", others.join("&")) };
        Ok(Self { rest, ssl_mode: value("sslmode"), root_file: value("sslrootcert") })
    }
}

/// Without a word of the user, the network is never crossed in plain text.
fn ssl_mode(asked: Option<&str>, config: &Config) -> Result<SslMode, StoreError> {
    match asked {
        None if is_own_machine(config) => Ok(SslMode::Disable),
        Some("disable") => Ok(SslMode::Disable),
        Some("prefer") => Ok(SslMode::Prefer),
        None | Some("require" | "verify-full") => Ok(SslMode::Require),
        Some(_) => Err(StoreError::refused(
            "the sslmode of the journal's URL is none of disable, prefer, require and verify-full: require is as \
             strict here as verify-full",
        )),
    }
}

fn is_own_machine(config: &Config) -> bool {
    let is_own_name =
        |name: &str| name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let is_own_host = |host: &Host| match host {
        Host::Tcp(name) => is_own_name(name),
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    match config.get_hostaddrs() {
        [] => config.get_hosts().iter().all(is_own_host),
        addresses => addresses.iter().all(IpAddr::is_loopback),
    }
}

/// What keeps a network that has died from keeping a charge for minutes.
fn add_defaults(config: &mut Config) {
    let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
    if config.get_connect_timeout().is_none() {
        // One that is down must leave time for the next.
        config.connect_timeout(LONGEST_OPENING / u32::try_from(hosts).unwrap_or(u32::MAX));
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(20));
    }
    if config.get_keepalives_idle() == LIBRARY_KEEPALIVE {
        config.keepalives_idle(Duration::from_secs(30));
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(Duration::from_secs(10));
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(3);
    }
    if config.get_application_name().is_none() {
        config.application_name("payments-journal");
    }
    // Of several hosts the one that may be written is meant.
    if hosts > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
}

const LIBRARY_KEEPALIVE: Duration = Duration::from_hours(2);

/// Without the password, and without the URL's other parameters.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("hosts", &self.config.get_hosts())
            .field("ports", &self.config.get_ports())
            .field("database", &self.config.get_dbname())
            .field("user", &self.config.get_user())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
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
            let error = Address::parse(url).unwrap_err();
            assert!(error.is_refused(), "{url}");
            assert!(!format!("{error:#} {error:?}").contains("s3cret"), "{error:#}");
        }
    }

    #[test]
    fn neither_password_nor_parameters_are_shown() {
        let address = Address::parse("postgres://u:s3cret@h/d?options=-c%20a.s3cret%3D1").unwrap();
        assert!(!format!("{address:?}").contains("s3cret"));
    }
}
