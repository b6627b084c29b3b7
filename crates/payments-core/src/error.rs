use std::error::Error as StdError;
use std::fmt;

use http::StatusCode;
use payments_model::{BAD_REQUEST_PREFIX, TransactionId, TransactionRecord, ValidationError, Violation};

use crate::configuration_error::ConfigurationError;
use crate::metadata::Metadata;
use crate::{OperationName, Outcome, RetryAfter, TransportError, TransportErrorKind};

/// Why a call did not succeed, and whether the money can have moved.
///
/// Ask [`outcome`](Self::outcome) first: it decides what may be done next. Everything else is for logs and people.
/// `{}` is one line that says what happened, whether the money can have moved and what to do; `{:#}` adds the causes
/// below it, such as the operating system's own words. Neither these nor `Debug` show a card number, a security code,
/// an account or the API key.
pub struct Error(Box<Inner>);

struct Inner {
    outcome: Outcome,
    operation: Option<OperationName>,
    cause: Cause,
    metadata: Option<Metadata>,
    found: Found,
    /// The transaction that a void of unknown outcome was to change.
    to_be_voided: Option<TransactionId>,
}

/// What went wrong, in the order in which a call can go wrong.
enum Cause {
    Configuration(ConfigurationError),
    Validation(ValidationError),
    Transport(TransportError),
    Answer(AnswerKind),
}

/// What an answer that is no success was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    RejectedByService,
    RejectedByIntermediary,
    Unclear,
}

/// What an unsuccessful answer still told about the transaction.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) transaction_id: Option<TransactionId>,
    pub(crate) record_status: Option<String>,
    pub(crate) record: Option<TransactionRecord>,
}

impl Error {
    pub(crate) fn answered(
        operation: OperationName,
        outcome: Outcome,
        kind: AnswerKind,
        metadata: Metadata,
        found: Found,
    ) -> Self {
        let mut this = Self::new(outcome, Some(operation), Cause::Answer(kind));
        this.0.metadata = Some(metadata);
        this.0.found = found;
        this
    }

    pub(crate) fn not_answered(operation: OperationName, outcome: Outcome, error: TransportError) -> Self {
        Self::new(outcome, Some(operation), Cause::Transport(error))
    }

    /// The same error, of a void of this transaction: what it is now tells whether it was voided. Where the outcome is
    /// known, an id would say that the answer holds a transaction.
    pub(crate) fn of_a_void(mut self, of: Option<&TransactionId>) -> Self {
        if self.0.outcome == Outcome::Unknown {
            self.0.to_be_voided = of.cloned();
        }
        self
    }

    /// An answer that broke off: its beginning decided the outcome, `error` says what broke it.
    pub(crate) fn caused_by(mut self, error: TransportError) -> Self {
        self.0.cause = Cause::Transport(error);
        self
    }

    pub(crate) fn invalid(operation: OperationName, error: ValidationError) -> Self {
        Self::new(Outcome::NotProcessed, Some(operation), Cause::Validation(error))
    }

    /// Whether the money can have moved. Every other question comes after this one.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// Nothing was sent, nothing was charged: the request itself is invalid. See [`violations`](Self::violations).
    pub fn is_validation(&self) -> bool {
        matches!(self.0.cause, Cause::Validation(_))
    }

    /// Nothing was sent, nothing was charged: the client is configured wrongly.
    pub fn is_configuration(&self) -> bool {
        matches!(self.0.cause, Cause::Configuration(_))
    }

    /// Nothing was charged: the API key was refused (HTTP 401). Every further call will fail until the key is mended.
    ///
    /// True with [`Outcome::Unknown`] in one odd case: a 401 whose body claims that the payment succeeded.
    pub fn is_unauthorized(&self) -> bool {
        self.http_status() == Some(StatusCode::UNAUTHORIZED)
    }

    /// Nothing was charged by this call: HTTP 404. For a look-up, the service knows no such id.
    ///
    /// Ask [`is_intermediary`](Self::is_intermediary) before concluding from a look-up that a transaction does not
    /// exist: a proxy's 404 says nothing about it.
    pub fn is_not_found(&self) -> bool {
        self.http_status() == Some(StatusCode::NOT_FOUND)
    }

    /// A charge may have been made, unless [`outcome`](Self::outcome) is [`Outcome::NotProcessed`]: a deadline ended.
    pub fn is_timeout(&self) -> bool {
        self.transport_kind() == Some(TransportErrorKind::Timeout)
    }

    /// Nothing was charged if [`outcome`](Self::outcome) says so, as it nearly always does here: no connection to the
    /// service could be made (name resolution, TCP or TLS).
    pub fn is_connect(&self) -> bool {
        use TransportErrorKind as Kind;
        matches!(self.transport_kind(), Some(Kind::Resolve | Kind::Connect | Kind::Tls))
    }

    /// Nothing was charged if [`outcome`](Self::outcome) is [`Outcome::Rejected`]: the answer is not in the service's
    /// own words, so something in front of it, a proxy or a firewall, is likely to have said no. Only ever true for a
    /// 4xx: anything else in foreign words is no refusal.
    pub fn is_intermediary(&self) -> bool {
        match &self.0.cause {
            Cause::Answer(kind) => *kind == AnswerKind::RejectedByIntermediary,
            Cause::Transport(_) => self.0.metadata.is_some() && self.0.outcome == Outcome::Rejected,
            Cause::Configuration(_) | Cause::Validation(_) => false,
        }
    }

    /// The operation that failed, if the error belongs to one.
    pub fn operation(&self) -> Option<OperationName> {
        self.0.operation
    }

    /// Every violation of an invalid request, by field and rule; empty for any other error.
    pub fn violations(&self) -> &[Violation] {
        match &self.0.cause {
            Cause::Validation(error) => error.violations(),
            _ => &[],
        }
    }

    /// The HTTP status of the answer, if there was one.
    pub fn http_status(&self) -> Option<StatusCode> {
        self.0.metadata.as_ref().map(|metadata| metadata.http_status)
    }

    /// The body's `status_code` as it was written.
    pub fn status_code(&self) -> Option<&str> {
        self.0.metadata.as_ref()?.status_code()
    }

    /// Why the service said no, in its own words, scrubbed: the body's message without the prefix
    /// `bad request error: `, else the HTTP status's standard phrase. For people; the interface publishes no list.
    pub fn reason(&self) -> Option<&str> {
        let metadata = self.0.metadata.as_ref()?;
        match metadata.message() {
            Some(message) => Some(message.strip_prefix(BAD_REQUEST_PREFIX).unwrap_or(message)),
            None => metadata.http_status.canonical_reason(),
        }
    }

    /// With [`Outcome::Unknown`], the transaction to look up: of the answer, whatever it was, or for a void whose answer
    /// gave none, the id that was to be voided. With any other outcome, of the answer alone, such as a declined payment's.
    pub fn transaction_id(&self) -> Option<&TransactionId> {
        self.0.found.transaction_id.as_ref().or(self.0.to_be_voided.as_ref())
    }

    /// The record's `Status` code, if the answer holds one. Its meaning is not published.
    pub fn record_status(&self) -> Option<&str> {
        self.0.found.record_status.as_deref()
    }

    /// The transaction record of an answer that says no, such as a declined card's.
    pub fn record(&self) -> Option<&TransactionRecord> {
        self.0.found.record.as_ref()
    }

    /// When the service asks to be called again. It is no permission to send a charge again.
    pub fn retry_after(&self) -> Option<RetryAfter> {
        self.0.metadata.as_ref()?.retry_after
    }

    /// The answer's request id header, if it has one: what to quote to the service's support.
    pub fn request_id(&self) -> Option<&str> {
        self.0.metadata.as_ref()?.request_id()
    }

    /// The first 2 KiB of the answer's body, scrubbed of secrets as well as they can be recognised.
    ///
    /// It may still hold personal data, so it is part of neither `Debug` nor `Display`.
    pub fn body_snippet(&self) -> Option<String> {
        self.0.metadata.as_ref().map(Metadata::body_snippet)
    }

    /// The transport's account of what went wrong, if the answer was not read to its end.
    pub fn transport_error(&self) -> Option<&TransportError> {
        match &self.0.cause {
            Cause::Transport(error) => Some(error),
            _ => None,
        }
    }

    /// A short, stable word for logs and metrics, such as `validation`, `timeout`, `unauthorized` or `unclear_answer`.
    pub fn kind(&self) -> &'static str {
        match &self.0.cause {
            Cause::Configuration(_) => "configuration",
            Cause::Validation(_) => "validation",
            Cause::Transport(error) => error.kind().as_str(),
            Cause::Answer(kind) => match (kind, self.http_status().map(|status| status.as_u16())) {
                (AnswerKind::RejectedByService, Some(401)) => "unauthorized",
                (AnswerKind::RejectedByService, Some(404)) => "not_found",
                (AnswerKind::RejectedByService, _) => "rejected",
                (AnswerKind::RejectedByIntermediary, _) => "intermediary",
                (AnswerKind::Unclear, _) => "unclear_answer",
            },
        }
    }

    fn new(outcome: Outcome, operation: Option<OperationName>, cause: Cause) -> Self {
        let found = Found::default();
        Self(Box::new(Inner { outcome, operation, cause, metadata: None, found, to_be_voided: None }))
    }

    pub(crate) fn metadata(&self) -> Option<&Metadata> {
        self.0.metadata.as_ref()
    }

    pub(crate) fn transport_kind(&self) -> Option<TransportErrorKind> {
        self.transport_error().map(TransportError::kind)
    }
}

impl From<ConfigurationError> for Error {
    fn from(error: ConfigurationError) -> Self {
        Self::new(Outcome::NotProcessed, None, Cause::Configuration(error))
    }
}

impl From<ValidationError> for Error {
    fn from(error: ValidationError) -> Self {
        Self::new(Outcome::NotProcessed, None, Cause::Validation(error))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { outcome, operation, cause, metadata, found, to_be_voided } = &*self.0;
        f.debug_struct("Error")
            .field("message", &format_args!("{self}"))
            .field("outcome", outcome)
            .field("operation", operation)
            .field("cause", cause)
            .field("metadata", metadata)
            .field("found", found)
            .field("to_be_voided", to_be_voided)
            .finish()
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(error) => error.fmt(f),
            Self::Validation(error) => error.fmt(f),
            Self::Transport(error) => error.fmt(f),
            Self::Answer(kind) => kind.fmt(f),
        }
    }
}

/// Three parts for three in the morning: what happened, what it means for the money, what to do.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = self.0.operation {
            write!(f, "{operation}: ")?;
        }
        match &self.0.cause {
            Cause::Configuration(error) => write!(f, "{error}")?,
            Cause::Validation(error) => write!(f, "{error}")?,
            Cause::Transport(error) => {
                write!(f, "{error}")?;
                if f.alternate() {
                    write_causes(error, f)?;
                }
            }
            Cause::Answer(kind) => self.write_answer(*kind, f)?,
        }
        f.write_str("; ")?;
        let moves_money = self.0.operation.is_none_or(OperationName::moves_money);
        match self.0.outcome {
            Outcome::NotProcessed if self.is_validation() => {
                f.write_str("nothing was sent: correct the request")
            }
            Outcome::NotProcessed if self.is_configuration() => {
                f.write_str("nothing was sent: correct the settings")
            }
            Outcome::NotProcessed if moves_money => {
                f.write_str("nothing was processed: it is safe to send it again")
            }
            Outcome::NotProcessed => f.write_str("a look-up moves nothing: it is safe to run it again"),
            Outcome::Rejected if moves_money => {
                f.write_str("it was refused: correct the cause, then send a new request")
            }
            // What was in flight when somebody looked is not there yet.
            Outcome::Rejected if self.says_that_there_is_no_such_transaction() => f.write_str(
                "a look-up moves nothing: check the id; a payment of unknown outcome may still be made",
            ),
            Outcome::Rejected => f.write_str("a look-up moves nothing: correct the cause, then run it again"),
            Outcome::Unknown => match self.transaction_id() {
                Some(id) => {
                    // Escaped, because a log must not grow a line that a server wrote.
                    let shown = id.as_str().escape_debug();
                    f.write_str("it may have been processed: do not send it again, ")?;
                    match id.path_segment() {
                        Ok(_) => write!(f, "look up transaction {shown}"),
                        // No look-up takes it.
                        Err(_) => write!(f, "reconcile transaction {shown} with the service"),
                    }
                }
                None => f.write_str(
                    "it may have been processed: do not send it again, reconcile it with the service",
                ),
            },
        }
    }
}

impl Error {
    fn write_answer(&self, kind: AnswerKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match kind {
            AnswerKind::RejectedByService => "the service answered ",
            AnswerKind::RejectedByIntermediary => "something in front of the service answered ",
            AnswerKind::Unclear => "the answer leaves it open, ",
        })?;
        let Some(metadata) = &self.0.metadata else {
            return f.write_str("nothing");
        };
        write!(f, "HTTP {}", metadata.http_status.as_u16())?;
        let is_success = metadata.http_status.is_success();
        let moves_money = self.0.operation.is_some_and(OperationName::moves_money);
        let is_near_success = kind == AnswerKind::Unclear && moves_money && is_success;
        let is_telling = |code: &&str| is_near_success || *code != metadata.http_status.as_str();
        let status_code = metadata.status_code().filter(is_telling);
        if let Some(code) = status_code {
            write!(f, " with status_code {code}")?;
        }
        if is_success {
            f.write_str(match (kind, status_code, &self.0.found.transaction_id) {
                (AnswerKind::RejectedByService, None, _) => " with an error body",
                (AnswerKind::RejectedByService, Some(_), _) => " and an error body",
                (_, None, _) if !moves_money => " without what was asked for",
                (_, Some(_), _) if !moves_money => ", without what was asked for",
                (_, None, None) => " without status_code 100 and a TransactionId",
                (_, None, Some(_)) => " without status_code 100",
                (_, Some(_), None) => ", without a TransactionId",
                (_, Some(_), Some(_)) => "",
            })?;
        }
        // The phrase of a 2xx, such as OK, is no reason why it is open or a refusal.
        match self.reason().filter(|_| !is_success || metadata.message().is_some()) {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }

    /// In the service's own words: a proxy has never heard of it.
    fn says_that_there_is_no_such_transaction(&self) -> bool {
        self.0.operation == Some(OperationName::GetTransaction) && self.kind() == "not_found"
    }
}

fn write_causes(error: &TransportError, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut source = error.source();
    while let Some(cause) = source {
        write!(f, ": {cause}")?;
        source = cause.source();
    }
    Ok(())
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0.cause {
            Cause::Transport(error) => error.source(),
            Cause::Configuration(_) | Cause::Validation(_) | Cause::Answer(_) => None,
        }
    }
}
