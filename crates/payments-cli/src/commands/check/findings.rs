//! What the one look-up of a check proves of each step, in sentences that say what to do.

use std::error::Error as StdError;
use std::io;

use http::Uri;
use http::uri::Scheme;
use payments_core::{Delivery, ErrorKind, LookupError, Success, TransportError, TransportErrorKind};
use payments_model::TransactionRecord;
use rustls::CertificateError;

use super::{Probe, Step, StepName};
use crate::failure::Failure;
use crate::settings::Settings;

/// The steps after the settings, and how the check ended.
pub(super) struct Examined {
    pub(super) steps: Vec<Step>,
    pub(super) ended: Result<u16, Failure>,
}

/// What the sentences speak of.
pub(super) struct Findings<'a> {
    pub(super) uri: &'a Uri,
    pub(super) settings: &'a Settings,
}

impl Examined {
    /// It ended before anything was proven.
    pub(super) fn ended(failure: Failure) -> Self {
        let steps = [StepName::Connection, StepName::Tls]
            .map(|name| Step::skipped(name, "not found out"))
            .into_iter()
            .chain([Step::failed(StepName::Key, &*failure.message)])
            .collect();
        Self { steps, ended: Err(failure) }
    }
}

impl Findings<'_> {
    pub(super) fn read(
        &self,
        result: Result<Success<TransactionRecord>, LookupError>,
        probe: Option<Probe>,
    ) -> Examined {
        let error = match result {
            Ok(found) => return self.found_what_nobody_made(&found),
            Err(error) => error,
        };
        let unsent = error.transport_error().filter(|error| error.delivery() == Delivery::NotProcessed);
        if let Some(evidence) = unsent {
            let (steps, message) = self.unsent(evidence, probe);
            return Examined { steps, ended: Err(told(error, message)) };
        }
        let status = error.http_status().map(|status| status.as_u16());
        if status == Some(404) && error.kind() == ErrorKind::NotFound && is_the_services(error.reason()) {
            let key =
                Step::passed(StepName::Key, "accepted: HTTP 404 for an id that nobody has, as it should be");
            return Examined { steps: self.reached(key), ended: Ok(404) };
        }
        let message = self.answered(&error);
        Examined {
            steps: self.reached(Step::failed(StepName::Key, &*message)),
            ended: Err(told(error, message)),
        }
    }

    /// Connection and TLS are proven by whatever came after them.
    fn reached(&self, key: Step) -> Vec<Step> {
        vec![self.connected(), self.secured(), key]
    }

    fn connected(&self) -> Step {
        Step::passed(StepName::Connection, format!("{} takes connections", self.authority()))
    }

    fn secured(&self) -> Step {
        if self.is_secure() {
            Step::passed(StepName::Tls, format!("the certificate is good for {}", self.host()))
        } else {
            Step::skipped(StepName::Tls, "not used: plain http, to this machine alone")
        }
    }

    /// A service knows no transaction by this id, so it was none that answered.
    fn found_what_nobody_made(&self, found: &Success<TransactionRecord>) -> Examined {
        let message = format!(
            "HTTP {} with a record for an id that nobody has: it is not the service that answers there, \
             or it answers everybody alike, and the key is not proven; check the base address",
            found.http_status().as_u16()
        );
        let failure = Failure::not_processed("unclear_answer", &*message).answered(found);
        Examined { steps: self.reached(Step::failed(StepName::Key, message)), ended: Err(failure) }
    }

    /// The steps when no connection stood, and the failed one's sentence.
    fn unsent(&self, evidence: &TransportError, probe: Option<Probe>) -> (Vec<Step>, String) {
        use TransportErrorKind as Kind;

        let (authority, host) = (self.authority(), self.host());
        let at = self.settings.base_url_source();
        let unresolved = |why: &str| {
            format!(
                "the name {host} does not resolve{why}: check the base address ({at}) and this machine's network"
            )
        };
        let unconnected = |why: &str| {
            format!(
                "{authority} takes no connection{why}: is the service there, and no firewall between? \
                 check the base address ({at})"
            )
        };
        let because = |error: Option<io::Error>| match error {
            Some(error) => format!(" ({error})"),
            None => " in time".to_owned(),
        };
        let no_connection = |message: String| {
            let skipped = [StepName::Tls, StepName::Key].map(|name| Step::skipped(name, NOT_TRIED));
            let steps = [Step::failed(StepName::Connection, &*message)].into_iter().chain(skipped).collect();
            (steps, message)
        };
        let no_tls = |connection: Step, message: String| {
            let key = Step::skipped(StepName::Key, NOT_TRIED);
            (vec![connection, Step::failed(StepName::Tls, &*message), key], message)
        };
        if let Some((proxy, from)) = self.settings.proxy()
            && matches!(evidence.kind(), Kind::Resolve | Kind::Connect | Kind::Timeout)
        {
            return no_connection(format!(
                "the proxy {proxy} opens no connection to {authority}{}: is the proxy there, does it accept the \
                 credentials, and does it allow that address? check the proxy ({from}) and the base address ({at})",
                innermost(evidence)
            ));
        }
        match (evidence.kind(), probe) {
            (Kind::Resolve, _) => no_connection(unresolved(&innermost(evidence))),
            (Kind::Connect, _) => no_connection(unconnected(&innermost(evidence))),
            (Kind::Timeout, Some(Probe::Unresolved(error))) => no_connection(unresolved(&because(error))),
            (Kind::Timeout, Some(Probe::Unconnected(error))) => no_connection(unconnected(&because(error))),
            (Kind::Timeout, Some(Probe::Connected)) if self.is_secure() => no_tls(
                self.connected(),
                format!(
                    "{authority} takes connections, but the TLS handshake did not end in time: \
                     does it speak TLS on that port? check the base address ({at})"
                ),
            ),
            (Kind::Tls, _) => match handshake_error(evidence) {
                Some(error) => no_tls(self.connected(), self.bad_tls(error)),
                // Before a connection was tried.
                None => no_tls(
                    Step::skipped(StepName::Connection, NOT_TRIED),
                    format!("{host} cannot be the name in a certificate: check the base address ({at})"),
                ),
            },
            (Kind::Closed, _) => {
                let message =
                    format!("{authority} closed the connection before the request was sent: try again");
                (self.reached(Step::failed(StepName::Key, &*message)), message)
            }
            (Kind::Timeout, _) => no_connection(format!(
                "no connection to {authority} stood in time: raise --timeout, or check the base address ({at})"
            )),
            (kind, _) => no_connection(format!(
                "{}{}: check the base address ({at})",
                kind.description(),
                innermost(evidence)
            )),
        }
    }

    /// The server was reached, and no TLS came about.
    fn bad_tls(&self, error: &io::Error) -> String {
        let host = self.host();
        let refused = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match refused {
            Some(rustls::Error::InvalidCertificate(refused)) => match refused {
                CertificateError::UnknownIssuer => format!(
                    "the certificate of {host} is signed by no authority that is trusted here: \
                     if it is your own, give its certificate with --ca-cert or ca_cert ({refused:?})"
                ),
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                    format!(
                        "the certificate is for another name than {host}: \
                     use the name that it was issued for in the base address"
                    )
                }
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => format!(
                    "the certificate of {host} has expired: check this machine's clock, then ask the server's owner"
                ),
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => format!(
                    "the certificate of {host} is not valid yet: check this machine's clock, then ask the server's owner"
                ),
                other => format!("the certificate of {host} is not good ({other}): ask the server's owner"),
            },
            _ => format!(
                "no TLS came about with {} ({error}): does it speak TLS on that port? check the base address ({})",
                self.authority(),
                self.settings.base_url_source()
            ),
        }
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

const NOT_TRIED: &str = "not tried";

/// The failure of the step: its words are in the sentence, the rest is as for every call.
fn told(error: LookupError, message: String) -> Failure {
    Failure { message, ..Failure::from(error) }
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
