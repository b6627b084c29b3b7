use std::collections::hash_map::RandomState;
use std::error::Error as _;
use std::hash::BuildHasher as _;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use percent_encoding::percent_decode_str;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::lookup_host;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, LoadBalanceHosts, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::StoreError;

/// The address of the database, from a URL. It has no `Debug`, because it contains the password.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    /// The same without hosts.
    of_no_host: Config,
    pub(super) tls: MakeRustlsConnect,
    /// Shared by the connections of a store.
    last_to_respond: Arc<Mutex<[Config; 2]>>,
}

impl Address {
    /// No error repeats a part of the URL where its password can be, because a misspelled one may have it nearly anywhere.
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        let Parts { ssl_mode, root_file, whole, without_hosts } = Parts::of(url)?;
        let (mut config, mut of_no_host) = (parsed(&whole)?, parsed(&without_hosts)?);
        let (names, addresses) = (config.get_hosts().len(), config.get_hostaddrs().len());
        let (hosts, ports) = (names.max(addresses), config.get_ports().len());
        if hosts == 0 {
            return Err(refused("names no host: write postgres://user@host/database"));
        }
        // The server would take the one with the user's name, so that each user had a journal of its own.
        if config.get_dbname().is_none_or(str::is_empty) {
            return Err(refused("names no database: write postgres://user@host/database"));
        }
        if (names != 0 && addresses != 0 && names != addresses) || (ports > 1 && ports != hosts) {
            return Err(refused("has not as many hostaddr or port as it has hosts"));
        }
        let ssl_mode = match ssl_mode.as_deref() {
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
        };
        // With several hosts, the one that can be written is used.
        let needs_writable = hosts > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any;
        for config in [&mut config, &mut of_no_host] {
            config.ssl_mode(ssl_mode);
            if needs_writable {
                config.target_session_attrs(TargetSessionAttrs::ReadWrite);
            }
        }
        let (tls, last_to_respond) = (tls(root_file.as_deref())?, Arc::default());
        Ok(Self { config, of_no_host, tls, last_to_respond })
    }

    /// The settings for each host alone, in the order in which they are tried.
    pub(super) fn hosts(&self) -> Vec<Config> {
        let config = &self.config;
        let (names, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
        let hosts = (0..names.len().max(addresses.len())).map(|index| {
            let mut alone = self.of_no_host.clone();
            match names.get(index) {
                Some(Host::Tcp(name)) => _ = alone.host(name),
                #[cfg(unix)]
                Some(Host::Unix(folder)) => _ = alone.host_path(folder),
                None => {}
            }
            if let Some(address) = addresses.get(index) {
                alone.hostaddr(*address);
            }
            alone.port(ports.get(index).or_else(|| ports.first()).copied().unwrap_or(DEFAULT_PORT));
            alone
        });
        self.ordered(hosts.collect())
    }

    /// The settings for each address of one of these hosts alone.
    pub(super) async fn addresses(&self, host: &Config) -> io::Result<Vec<Config>> {
        let ([Host::Tcp(name)], []) = (host.get_hosts(), host.get_hostaddrs()) else {
            return Ok(vec![host.clone()]);
        };
        let addresses = lookup_host((name.as_str(), DEFAULT_PORT)).await?.map(|address| {
            let mut alone = host.clone();
            alone.hostaddr(address.ip());
            alone
        });
        // A name that has moved to another server is never connected to the old one.
        Ok(self.ordered(addresses.collect()))
    }

    /// Remembers the host, and the address of it, that are tried first from now on if the URL and the name still have them.
    pub(super) fn has_responded(&self, host: &Config, address: &Config) {
        *self.last_to_respond.lock().unwrap_or_else(PoisonError::into_inner) =
            [host.clone(), address.clone()];
    }

    /// Also a host that cannot be written.
    pub(super) fn of_any_server(mut self) -> Self {
        for config in [&mut self.config, &mut self.of_no_host] {
            config.target_session_attrs(TargetSessionAttrs::Any);
        }
        self
    }

    fn ordered(&self, mut alternatives: Vec<Config>) -> Vec<Config> {
        if self.config.get_load_balance_hosts() == LoadBalanceHosts::Random {
            alternatives.sort_by_cached_key(|_| RandomState::new().hash_one(()));
        } else {
            let last = self.last_to_respond.lock().unwrap_or_else(PoisonError::into_inner);
            alternatives.sort_by_key(|alternative| !last.contains(alternative));
        }
        alternatives
    }

    /// The hosts and the database, for errors.
    pub(super) fn place(&self) -> String {
        let names = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(folder) => folder.display().to_string(),
        });
        let hosts: Vec<_> = names.chain(self.config.get_hostaddrs().iter().map(IpAddr::to_string)).collect();
        format!("{} at {}", self.config.get_dbname().unwrap_or_default(), hosts.join(", "))
    }
}

/// What a URL consists of.
struct Parts {
    ssl_mode: Option<String>,
    /// The file of `sslrootcert`.
    root_file: Option<String>,
    /// The URL with the parameters that the library reads.
    whole: String,
    /// The same without its hosts.
    without_hosts: String,
}

impl Parts {
    fn of(url: &str) -> Result<Self, StoreError> {
        let Some((scheme, _)) =
            url.split_once("://").filter(|(scheme, _)| ["postgres", "postgresql"].contains(scheme))
        else {
            return Err(refused("does not begin with postgres:// or postgresql://"));
        };
        // The text after the first @ would be taken for a host or a database, and appear in errors.
        if url.matches('@').count() > 1 {
            return Err(refused("contains more than one @: write %40 for an @ in a user name or password"));
        }
        // A password may contain a slash or a question mark.
        let hosts = url.find('@').map_or(scheme.len() + "://".len(), |at| at + 1);
        let query = url[hosts..].find('?').map_or(url.len(), |at| hosts + at);
        let path = url[hosts..query].find('/').map_or(query, |at| hosts + at);
        let (mut ssl_mode, mut root_file) = (None, None);
        let mut whole = format!("{}?{DEFAULTS}", &url[..query]);
        let mut without_hosts = format!("{}{}?{DEFAULTS}", &url[..hosts], &url[path..query]);
        for pair in url[query..].trim_start_matches('?').split('&') {
            let decoded = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
            let Some((name, value)) = pair.split_once('=') else {
                whole.extend(["&", pair]);
                continue;
            };
            match (name, decoded(name).as_str()) {
                ("sslmode", _) => ssl_mode = Some(decoded(value)),
                ("sslrootcert", _) => root_file = Some(decoded(value)),
                (_, "host" | "hostaddr" | "port") => whole.extend(["&", pair]),
                (_, known) if PARAMETERS.split(", ").any(|parameter| parameter == known) => {
                    whole.extend(["&", pair]);
                    without_hosts.extend(["&", pair]);
                }
                _ => {
                    // What follows a password may belong to it.
                    let may_be_shown = name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
                        && name.len() <= LONGEST_NAME
                        && !url[..query].contains(name)
                        && !whole.contains("&password=");
                    let named = if may_be_shown { format!(" {name}") } else { String::new() };
                    return Err(refused(&format!(
                        "has the parameter{named}, which is not supported: remove it; supported are sslmode, sslrootcert, \
                         {PARAMETERS}"
                    )));
                }
            }
        }
        Ok(Self { ssl_mode, root_file, whole, without_hosts })
    }
}

fn parsed(url: &str) -> Result<Config, StoreError> {
    url.parse().map_err(|error: tokio_postgres::Error| {
        // Only this one names nothing but a parameter.
        let reason = error.source().map(ToString::to_string).unwrap_or_default();
        match reason.strip_prefix("invalid value for option ") {
            Some(name) => refused(&format!("has an invalid value for {}", name.trim_matches('`'))),
            None => refused(
                "cannot be read: write postgres://user:password@host:port/database?sslmode=require, \
                 with special characters in a name or password percent-encoded, and only documented libpq parameters \
                 after the ?",
            ),
        }
    })
}

fn refused(what: &str) -> StoreError {
    StoreError::refused(format!("the URL of the journal {what}"))
}

/// Parameters that a URL may override. With them, a dead network does not delay a charge for minutes.
const DEFAULTS: &str = "tcp_user_timeout=20&keepalives_idle=30&keepalives_interval=10&keepalives_retries=3\
     &application_name=payments-journal";

/// The parameters that the library reads.
const PARAMETERS: &str = "user, password, dbname, host, hostaddr, port, connect_timeout, tcp_user_timeout, keepalives, \
     keepalives_idle, keepalives_interval, keepalives_retries, application_name, options, target_session_attrs, \
     channel_binding, load_balance_hosts, sslnegotiation";

/// A longer name in a URL is not shown.
const LONGEST_NAME: usize = 40;

const DEFAULT_PORT: u16 = 5432;

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
    fn several_hosts_need_a_writable_one() {
        let address = Address::parse("postgres://u@one.example,two.example/d").unwrap();
        for host in address.hosts() {
            assert_eq!(host.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        }
    }

    #[test]
    fn each_host_has_every_parameter_of_the_url() {
        let parameters = "connect_timeout=3&tcp_user_timeout=4&keepalives=0&keepalives_idle=5&keepalives_interval=6\
             &keepalives_retries=7&application_name=billing&options=-c%20a=b&target_session_attrs=any\
             &channel_binding=require&sslnegotiation=direct&sslmode=require";
        let of_hosts =
            |hosts: &str| Address::parse(&format!("postgres://u:p@{hosts}/d?{parameters}")).unwrap();
        let alone = |host: &str| {
            let mut config = of_hosts(host).config;
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
            config
        };
        assert_eq!(of_hosts("one:1,%2Ftwo:2").hosts(), [alone("one:1"), alone("%2Ftwo:2")]);
        let address = of_hosts("one,two").hosts();
        assert_eq!(address, [alone("one:5432"), alone("two:5432")]);
    }

    #[test]
    fn unsupported_parameter_is_named_unless_it_may_be_a_secret() {
        let text = |url: &str| Address::parse(url).err().unwrap().to_string();
        for name in ["sslcert", "sslkey", "passfile", "service", "currentSchema", "ssl", "gssencmode"] {
            let error = text(&format!("postgres://u:p@h/d?connect_timeout=3&{name}=x1"));
            assert!(error.contains(&format!("the parameter {name}, which is not supported")), "{error}");
            assert!(!error.contains("x1"), "{error}");
        }
        for url in [
            "postgres://u:hunter@h/d?hunter=1",
            "postgres://u@h/d?password=p&hunter=1",
            "postgres://u@h/d?sslmode=require&password=p&hunter=1",
            "postgres://u@h/d?hunter%32=1",
        ] {
            assert!(!text(url).contains("hunter"), "{url}");
        }
        let error = text("postgres://u:p@h/d?connect_timeout=soon");
        assert!(error.contains("invalid value for connect_timeout"), "{error}");
        assert!(!error.contains("soon"), "{error}");
    }

    #[test]
    fn url_names_its_database_which_is_shown() {
        for url in [
            "postgres://ada@h",
            "postgres://ada@h/",
            "postgres://ada@h?connect_timeout=3",
            "postgres://h/?dbname=",
        ] {
            let error = Address::parse(url).err().unwrap();
            assert!(error.is_refused(), "{url}");
            let expected = "the URL of the journal names no database: write postgres://user@host/database";
            assert!(error.to_string().starts_with(expected), "{error}");
        }
        for url in ["postgres://ada@h/books", "postgres://billing@h?dbname=books"] {
            assert_eq!(Address::parse(url).unwrap().place(), "books at h");
        }
    }

    #[test]
    fn unequal_numbers_of_hosts_and_ports_are_refused() {
        for url in ["postgres://u@one,two/d?hostaddr=10.0.0.1", "postgres://u@one,two,three/d?port=1,2"] {
            assert!(Address::parse(url).err().unwrap().is_refused(), "{url}");
        }
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
