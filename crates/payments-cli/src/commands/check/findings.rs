//! What the lookup of a check shows about each step, as messages that say what to do.

use std::io;

use http::uri::Scheme;
use http::{StatusCode, Uri};
use payments_core::transport::causes;
use payments_core::{Delivery, ErrorKind, LookupError, Success, TransportError, TransportErrorKind};
use payments_model::TransactionRecord;
use rustls::CertificateError;

use super::{FailedStep, Probe};
use crate::check_report::{State, StepName};
use crate::connection_hints::{
    CLIENT_CERTIFICATE, ignored_proxy, no_common_tls, requires_client_certificate, tls_error,
};
use crate::failure::Failure;
use crate::settings::Settings;

/// The context of the messages.
pub(super) struct Findings<'a> {
    pub(super) uri: &'a Uri,
    pub(super) settings: &'a Settings,
}

impl Findings<'_> {
    /// The message of a step that passed.
    pub(super) fn passed(&self, name: StepName) -> (State, String) {
        let message = match name {
            StepName::Settings => {
                let warning = self.settings.warning.iter().map(|warning| format!("; WARNING: {warning}"));
                self.settings.described().join(", ") + &warning.collect::<String>()
            }
            StepName::Connection => format!("{} accepts connections", self.authority()),
            StepName::Tls if self.is_secure() => format!("the certificate is valid for {}", self.host()),
            StepName::Tls => {
                return (State::Skipped, "not used: plain http, only to this machine".to_owned());
            }
            StepName::Key => "accepted: HTTP 404 for an unknown id, as expected".to_owned(),
        };
        (State::Passed, message)
    }

    /// The step at which the lookup failed; `None` if every step passed.
    pub(super) fn read(
        &self,
        result: Result<Success<TransactionRecord>, LookupError>,
        probe: Option<Probe>,
    ) -> Option<FailedStep> {
        let error = match result {
            Err(error) => error,
            // No service has a transaction with this id, so something else responded.
            Ok(found) => {
                let message = format!(
                    "HTTP {} with a record for an unknown id: the server is not the service, or it gives everyone the same \
                     response, so the key could not be checked; check the base URL",
                    found.http_status().as_u16()
                );
                let failure = Failure::not_processed("unclear_answer", message).with_response(&found);
                return Some(FailedStep { at: StepName::Key, earlier_steps_passed: true, failure });
            }
        };
        let is_unknown =
            error.http_status() == Some(StatusCode::NOT_FOUND) && error.kind() == ErrorKind::NotFound;
        if is_unknown && is_the_services(error.reason()) {
            return None;
        }
        let unsent =
            error.failed_call().transport_error().filter(|error| error.delivery() == Delivery::NotProcessed);
        let (at, message) = match (unsent, error.failed_call().transport_error()) {
            // With TLS 1.3, the server says this after the handshake.
            (_, Some(evidence)) if requires_client_certificate(evidence) => {
                let message = format!(
                    "{} refused the TLS handshake{}: {CLIENT_CERTIFICATE}",
                    self.authority(),
                    innermost(evidence)
                );
                (StepName::Tls, message)
            }
            (Some(evidence), _) => self.unsent(evidence, probe),
            (None, _) => (StepName::Key, self.responded(&error)),
        };
        // Without a handshake error the handshake was not started, and no connection was tried.
        let earlier_steps_passed = !unsent.is_some_and(|evidence| {
            evidence.kind() == TransportErrorKind::Tls && handshake_error(evidence).is_none()
        });
        let message = match self.settings.ignored_proxy_variable() {
            Some(variable) if unsent.is_some() => format!("{message}; {}", ignored_proxy(variable)),
            _ => message,
        };
        let failure = Failure { message, ..Failure::from(error) };
        Some(FailedStep { at, earlier_steps_passed, failure })
    }

    /// The step that failed before the request was sent, and its message.
    fn unsent(&self, evidence: &TransportError, probe: Option<Probe>) -> (StepName, String) {
        use TransportErrorKind as Kind;

        let (authority, host) = (self.authority(), self.host());
        let at = &self.settings.base_url_source;
        let unresolved = |why: &str| {
            let message = format!(
                "the name {host} does not resolve{why}: check the base URL ({at}) and this machine's network"
            );
            (StepName::Connection, message)
        };
        let unconnected = |why: &str| {
            let message = format!(
                "{authority} does not accept connections{why}: is the service running, and no firewall in between? \
                 check the base URL ({at})"
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
                "the proxy {proxy} did not open a connection to {authority}{}: is the proxy running, does it accept the \
                 credentials, and does it allow that address? check the proxy ({from}) and the base URL ({at})",
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
                    "{authority} accepts connections, but the TLS handshake did not finish in time: \
                     does the server speak TLS on that port? check the base URL ({at})"
                ),
            ),
            (Kind::Tls, _) => (
                StepName::Tls,
                handshake_error(evidence).map_or_else(
                    || format!("{host} cannot be the name in a certificate: check the base URL ({at})"),
                    |error| self.bad_tls(error, tls_error(evidence)),
                ),
            ),
            (Kind::Closed, _) => (
                StepName::Key,
                format!("{authority} closed the connection before the request was sent: try again"),
            ),
            (Kind::Timeout, _) => (
                StepName::Connection,
                format!(
                    "no connection to {authority} was established in time: raise --timeout, or check the base URL ({at})"
                ),
            ),
            (kind, _) => (
                StepName::Connection,
                format!("{}{}: check the base URL ({at})", kind.description(), innermost(evidence)),
            ),
        }
    }

    /// The message for a failed TLS handshake.
    fn bad_tls(&self, error: &io::Error, refused: Option<&rustls::Error>) -> String {
        let (host, at) = (self.host(), &self.settings.base_url_source);
        if let Some(why) = refused.and_then(no_common_tls) {
            return format!("the TLS handshake with {} failed ({error}): {why}", self.authority());
        }
        let Some(rustls::Error::InvalidCertificate(refused)) = refused else {
            return format!(
                "the TLS handshake with {} failed ({error}): does the server speak TLS on that port? \
                 check the base URL ({at})",
                self.authority()
            );
        };
        let why = match refused {
            CertificateError::UnknownIssuer => format!(
                "is not signed by a trusted authority: \
                 if the authority is your own, give its certificate with --ca-cert or ca_cert ({refused:?})"
            ),
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                return format!(
                    "the certificate is for another name than {host}: \
                     in the base URL, use the name that it was issued for"
                );
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "has expired: check this machine's clock, then ask the server's owner".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "is not valid yet: check this machine's clock, then ask the server's owner".to_owned()
            }
            other => format!("is not valid ({other}): ask the server's owner"),
        };
        format!("the certificate of {host} {why}")
    }

    /// The message for a request that was sent and did not get the expected response.
    fn responded(&self, error: &LookupError) -> String {
        let Some(status) = error.http_status().map(|status| status.as_u16()) else {
            return self.no_response(error);
        };
        if let Some(coding) = error.failed_call().content_coding() {
            return format!(
                "HTTP {status}, but the response is {coding}-encoded although identity was asked for, so it was not read, and \
                 the key was not checked; a payment with such a response would be unknown: ask the owner of the server, or \
                 of what is between here and the server, to send responses to this client unencoded"
            );
        }
        let unread = error.failed_call().is_truncated().then_some(TransportErrorKind::BodyTruncated);
        if let Some(kind) = unread.or_else(|| error.failed_call().transport_error().map(TransportError::kind))
        {
            return format!(
                "HTTP {status}, but {}, so the key was not checked; a payment with such a response would be unknown: try \
                 again; if it recurs, ask the owner of the server, or of what is between here and the server",
                kind.description()
            );
        }
        let address = format!("check the base URL ({})", self.settings.base_url_source);
        let reason = error.reason().map(|reason| format!(" ({reason})")).unwrap_or_default();
        let key = &self.settings.key_source;
        let is_foreign = error.kind() == ErrorKind::RefusedByIntermediary;
        match status {
            401 if is_foreign => format!(
                "HTTP 401 without the service's error body: something in front of it, or another server, \
                 wants other credentials; {address}, and the key, which came from {key}"
            ),
            401 => format!(
                "the key was refused: HTTP 401{reason}; give the key of this environment: the key came from {key}"
            ),
            403 => format!(
                "refused: HTTP 403{reason}; this key, or this machine, is not allowed to look up transactions: \
                 ask the issuer of the key, which came from {key}"
            ),
            404 if is_foreign => format!(
                "HTTP 404 without the service's error body: the service is not at this path; {}",
                self.settings.path_hint()
            ),
            404 => format!(
                "HTTP 404{reason}, which is not the service's response to an unknown transaction; {}",
                self.settings.path_hint()
            ),
            429 => format!("HTTP 429{reason}: the key was not checked; try again later"),
            300..=399 => format!(
                "HTTP {status}, a redirect, which is not followed, because it would send the key elsewhere; \
                 set the base URL to the address of the service itself: {address}"
            ),
            500..=599 => format!(
                "HTTP {status}{reason}: the service, or something in front of it, has failed, \
                 and the key was not checked; try again later"
            ),
            200..=299 if error.failed_call().refused_by().is_some() => {
                format!("HTTP {status}, but the response is a rejection{reason}; ask the service's support")
            }
            200..=299 if is_a_page(error) => format!(
                "HTTP {status} with a web page instead of the service's response: a proxy's login, or another site; \
                 {address}"
            ),
            200..=299 => format!("HTTP {status}, but not the service's response to a lookup; {address}"),
            400..=499 => format!("refused: HTTP {status}{reason}; {address}"),
            _ => format!("HTTP {status}, which is not a valid response to a lookup; {address}"),
        }
    }

    /// The message for a request that was sent and got no readable response.
    fn no_response(&self, error: &LookupError) -> String {
        use TransportErrorKind as Kind;

        let authority = self.authority();
        let at = &self.settings.base_url_source;
        let or_https = if self.is_secure() { "" } else { ", or does it expect https" };
        match error.failed_call().transport_error().map(TransportError::kind) {
            Some(Kind::Timeout) => format!(
                "{authority} did not respond in time: raise --timeout, or find out whether the service is up"
            ),
            Some(Kind::Closed) => format!(
                "{authority} closed the connection without a response: is it the service{or_https}? \
                 check the base URL ({at})"
            ),
            Some(Kind::Protocol) => format!(
                "the response of {authority} is not HTTP: is it the service{or_https}? check the base URL ({at})"
            ),
            Some(kind) => format!("{}: try again, and check the base URL ({at})", kind.description()),
            None => format!("no response: check the base URL ({at})"),
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

/// The interface's message for an unknown transaction. It decides nothing about money, but without it a check would pass at a
/// wrong path.
fn is_the_services(reason: Option<&str>) -> bool {
    let reason = reason.unwrap_or_default().trim().trim_end_matches('.');
    reason.eq_ignore_ascii_case("Transaction not found")
}

fn is_a_page(error: &LookupError) -> bool {
    error.failed_call().body_snippet().is_some_and(|body| body.trim_start().starts_with('<'))
}

/// The error of the handshake; `None` if it was not started.
fn handshake_error(evidence: &TransportError) -> Option<&io::Error> {
    causes(evidence).find_map(|cause| cause.downcast_ref())
}

/// The last cause in brackets, such as the operating system's message.
fn innermost(evidence: &TransportError) -> String {
    causes(evidence).skip(1).last().map(|error| format!(" ({error})")).unwrap_or_default()
}
