//! What the one look-up of a check proves of each step, in sentences that say what to do.

use std::error::Error as StdError;
use std::io;

use http::uri::Scheme;
use http::{StatusCode, Uri};
use payments_core::{Delivery, ErrorKind, LookupError, Success, TransportError, TransportErrorKind};
use payments_model::TransactionRecord;
use rustls::CertificateError;

use super::{Probe, State, StepName, Stop};
use crate::failure::Failure;
use crate::settings::Settings;

/// What the sentences speak of.
pub(super) struct Findings<'a> {
    pub(super) uri: &'a Uri,
    pub(super) settings: &'a Settings,
}

impl Findings<'_> {
    /// What a step says that went well.
    pub(super) fn passed(&self, name: StepName) -> (State, String) {
        let message = match name {
            StepName::Settings => {
                let warnings = self.settings.warnings().iter().map(|warning| format!("; WARNING: {warning}"));
                self.settings.described().join(", ") + &warnings.collect::<String>()
            }
            StepName::Connection => format!("{} takes connections", self.authority()),
            StepName::Tls if self.is_secure() => format!("the certificate is good for {}", self.host()),
            StepName::Tls => {
                return (State::Skipped, "not used: plain http, to this machine alone".to_owned());
            }
            StepName::Key => "accepted: HTTP 404 for an id that nobody has, as it should be".to_owned(),
        };
        (State::Passed, message)
    }

    /// The step that the look-up stopped at; none if it proves them all.
    pub(super) fn read(
        &self,
        result: Result<Success<TransactionRecord>, LookupError>,
        probe: Option<Probe>,
    ) -> Option<Stop> {
        let error = match result {
            Err(error) => error,
            // A service knows no transaction by this id, so it was none that answered.
            Ok(found) => {
                let message = format!(
                    "HTTP {} with a record for an id that nobody has: it is not the service that answers there, \
                     or it answers everybody alike, and the key is not proven; check the base address",
                    found.http_status().as_u16()
                );
                let failure = Failure::not_processed("unclear_answer", message).answered(&found);
                return Some(Stop { at: StepName::Key, is_before_proven: true, failure });
            }
        };
        let is_unknown =
            error.http_status() == Some(StatusCode::NOT_FOUND) && error.kind() == ErrorKind::NotFound;
        if is_unknown && is_the_services(error.reason()) {
            return None;
        }
        let unsent = error.transport_error().filter(|error| error.delivery() == Delivery::NotProcessed);
        let (at, message) = match unsent {
            Some(evidence) => self.unsent(evidence, probe),
            None => (StepName::Key, self.answered(&error)),
        };
        // Without an error of its own the handshake was not begun, and no connection was tried.
        let is_before_proven = !unsent.is_some_and(|evidence| {
            evidence.kind() == TransportErrorKind::Tls && handshake_error(evidence).is_none()
        });
        // The message is the step's; the rest is as for every call.
        let failure = Failure { message, ..Failure::from(error) };
        Some(Stop { at, is_before_proven, failure })
    }

    /// The step at which no request could be sent, and its sentence.
    fn unsent(&self, evidence: &TransportError, probe: Option<Probe>) -> (StepName, String) {
        use TransportErrorKind as Kind;

        let (authority, host) = (self.authority(), self.host());
        let at = self.settings.base_url_source();
        let unresolved = |why: &str| {
            let message = format!(
                "the name {host} does not resolve{why}: check the base address ({at}) and this machine's network"
            );
            (StepName::Connection, message)
        };
        let unconnected = |why: &str| {
            let message = format!(
                "{authority} takes no connection{why}: is the service there, and no firewall between? \
                 check the base address ({at})"
            );
            (StepName::Connection, message)
        };
        let because = |error: Option<io::Error>| match error {
            Some(error) => format!(" ({error})"),
            None => " in time".to_owned(),
        };
        if let Some((proxy, from)) = self.settings.proxy()
            && matches!(evidence.kind(), Kind::Resolve | Kind::Connect | Kind::Timeout)
        {
            let message = format!(
                "the proxy {proxy} opens no connection to {authority}{}: is the proxy there, does it accept the \
                 credentials, and does it allow that address? check the proxy ({from}) and the base address ({at})",
                innermost(evidence)
            );
            return (StepName::Connection, message);
        }
        match (evidence.kind(), probe) {
            (Kind::Resolve, _) => unresolved(&innermost(evidence)),
            (Kind::Connect, _) => unconnected(&innermost(evidence)),
            (Kind::Timeout, Some(Probe::Unresolved(error))) => unresolved(&because(error)),
            (Kind::Timeout, Some(Probe::Unconnected(error))) => unconnected(&because(error)),
            (Kind::Timeout, Some(Probe::Connected)) if self.is_secure() => (
                StepName::Tls,
                format!(
                    "{authority} takes connections, but the TLS handshake did not end in time: \
                     does it speak TLS on that port? check the base address ({at})"
                ),
            ),
            (Kind::Tls, _) => (
                StepName::Tls,
                handshake_error(evidence).map_or_else(
                    || format!("{host} cannot be the name in a certificate: check the base address ({at})"),
                    |error| self.bad_tls(error),
                ),
            ),
            (Kind::Closed, _) => (
                StepName::Key,
                format!("{authority} closed the connection before the request was sent: try again"),
            ),
            (Kind::Timeout, _) => (
                StepName::Connection,
                format!(
                    "no connection to {authority} stood in time: raise --timeout, or check the base address ({at})"
                ),
            ),
            (kind, _) => (
                StepName::Connection,
                format!("{}{}: check the base address ({at})", kind.description(), innermost(evidence)),
            ),
        }
    }

    /// The server was reached, and no TLS came about.
    fn bad_tls(&self, error: &io::Error) -> String {
        let (host, at) = (self.host(), self.settings.base_url_source());
        let refused = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let Some(rustls::Error::InvalidCertificate(refused)) = refused else {
            return format!(
                "no TLS came about with {} ({error}): does it speak TLS on that port? check the base address ({at})",
                self.authority()
            );
        };
        let why = match refused {
            CertificateError::UnknownIssuer => format!(
                "is signed by no authority that is trusted here: \
                 if it is your own, give its certificate with --ca-cert or ca_cert ({refused:?})"
            ),
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                return format!(
                    "the certificate is for another name than {host}: \
                     use the name that it was issued for in the base address"
                );
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "has expired: check this machine's clock, then ask the server's owner".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "is not valid yet: check this machine's clock, then ask the server's owner".to_owned()
            }
            other => format!("is not good ({other}): ask the server's owner"),
        };
        format!("the certificate of {host} {why}")
    }

    /// The request was sent, and its answer is not the one that proves the key.
    fn answered(&self, error: &LookupError) -> String {
        let Some(status) = error.http_status().map(|status| status.as_u16()) else {
            return self.not_answered(error);
        };
        let address = format!("check the base address ({})", self.settings.base_url_source());
        let reason = error.reason().map(|reason| format!(" ({reason})")).unwrap_or_default();
        let key = self.settings.key_source();
        let mut message = match status {
            401 if error.is_intermediary() => format!(
                "HTTP 401, but not in the service's words: something in front of it, or another server, \
                 wants other credentials; {address}, and the key, which came from {key}"
            ),
            401 => format!(
                "the key is refused: HTTP 401{reason}; give the key of this environment: it came from {key}"
            ),
            403 => format!(
                "refused: HTTP 403{reason}; this key, or this machine, may not ask: \
                 ask whoever issued the key, which came from {key}"
            ),
            404 if error.is_intermediary() => format!(
                "HTTP 404, but not in the service's words: it is not at this path; {}",
                self.settings.path_hint()
            ),
            404 => format!(
                "HTTP 404{reason}, which is not how the service says that a transaction is unknown; {}",
                self.settings.path_hint()
            ),
            429 => format!("HTTP 429{reason}: the key was not judged; try again later"),
            300..=399 => format!(
                "HTTP {status}, a redirect, and none is followed, because the key would go along; \
                 set the base address to where the service itself answers: {address}"
            ),
            500..=599 => format!(
                "HTTP {status}{reason}: the service, or something in front of it, is out of order, \
                 and the key was not judged; try again later"
            ),
            200..=299 if error.is_rejected() => {
                format!("HTTP {status}, but the answer says no{reason}; ask the service's support")
            }
            200..=299 if is_a_page(error) => format!(
                "HTTP {status} with a web page in place of the service's answer: a proxy's login, or another site; \
                 {address}"
            ),
            200..=299 => format!("HTTP {status}, but not the service's answer to a look-up; {address}"),
            400..=499 => format!("refused: HTTP {status}{reason}; {address}"),
            _ => format!("HTTP {status}, which no service answers a look-up with; {address}"),
        };
        if let Some(evidence) = error.transport_error() {
            message = format!("{message} ({})", evidence.kind().description());
        }
        message
    }

    /// The request may have been read, and nothing that can be read came back.
    fn not_answered(&self, error: &LookupError) -> String {
        use TransportErrorKind as Kind;

        let authority = self.authority();
        let at = self.settings.base_url_source();
        let else_tls = if self.is_secure() { "" } else { ", or does it expect https" };
        match error.transport_error().map(TransportError::kind) {
            Some(Kind::Timeout) => format!(
                "{authority} was asked and did not answer in time: raise --timeout, or ask whether the service is up"
            ),
            Some(Kind::Closed) => format!(
                "{authority} closed the connection without an answer: is it the service{else_tls}? \
                 check the base address ({at})"
            ),
            Some(Kind::Protocol) => format!(
                "what {authority} answers is no HTTP: is it the service{else_tls}? check the base address ({at})"
            ),
            Some(kind) => format!("{}: try again, and check the base address ({at})", kind.description()),
            None => format!("no answer: check the base address ({at})"),
        }
    }

    fn is_secure(&self) -> bool {
        self.uri.scheme() == Some(&Scheme::HTTPS)
    }

    fn authority(&self) -> &str {
        self.uri.authority().map_or("", |authority| authority.as_str())
    }

    fn host(&self) -> &str {
        self.uri.host().unwrap_or_default()
    }
}

/// The words that the interface shows for an unknown transaction. They decide nothing about money: a check that took any
/// 404 for the service's would pass at a wrong path.
fn is_the_services(reason: Option<&str>) -> bool {
    let reason = reason.unwrap_or_default().trim().trim_end_matches('.');
    reason.eq_ignore_ascii_case("Transaction not found")
}

fn is_a_page(error: &LookupError) -> bool {
    error.body_snippet().is_some_and(|body| body.trim_start().starts_with('<'))
}

/// What the handshake itself failed with; none where it was not begun.
fn handshake_error(evidence: &TransportError) -> Option<&io::Error> {
    let mut causes = std::iter::successors(evidence.source(), |&error| error.source());
    let error: &io::Error = causes.find_map(|error| error.downcast_ref())?;
    // hyper-rustls wraps the error of the handshake in another of its kind, which does not name it as its source.
    error.get_ref().and_then(|inner| inner.downcast_ref())
}

/// The last cause in brackets, such as the operating system's own words.
fn innermost(evidence: &TransportError) -> String {
    let mut innermost: Option<&dyn StdError> = evidence.source();
    while let Some(beneath) = innermost.and_then(StdError::source) {
        innermost = Some(beneath);
    }
    innermost.map(|error| format!(" ({error})")).unwrap_or_default()
}
