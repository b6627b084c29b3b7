use std::error::Error as StdError;
use std::fmt;

use http::StatusCode;
use payments_model::{BAD_REQUEST_PREFIX, ValidationError, Violation};

use crate::configuration_error::ConfigurationError;
use crate::judgement::Judgement;
use crate::metadata::Metadata;
use crate::{OperationName, RetryAfter, TransportError, TransportErrorKind};

/// What [`Error`](crate::Error) and [`LookupError`](crate::LookupError) share: what went wrong, and the response if a
/// status was received.
pub(crate) struct Failure {
    pub(crate) operation: Option<OperationName>,
    pub(crate) cause: Cause,
    pub(crate) response: Option<FailedResponse>,
}

/// What went wrong, in the order in which a call can go wrong.
pub(crate) enum Cause {
    Configuration(ConfigurationError),
    Validation(ValidationError),
    Transport(TransportError),
    /// A whole response that is no success.
    Response,
}

/// A response that is no success, whole or not.
#[derive(Debug)]
pub(crate) struct FailedResponse {
    pub(crate) judgement: Judgement,
    pub(crate) metadata: Metadata,
}

impl Failure {
    pub(crate) fn new(operation: Option<OperationName>, cause: Cause) -> Self {
        Self { operation, cause, response: None }
    }

    pub(crate) fn judgement(&self) -> Option<Judgement> {
        self.response.as_ref().map(|response| response.judgement)
    }

    pub(crate) fn metadata(&self) -> Option<&Metadata> {
        self.response.as_ref().map(|response| &response.metadata)
    }

    pub(crate) fn is_validation(&self) -> bool {
        matches!(self.cause, Cause::Validation(_))
    }

    pub(crate) fn is_configuration(&self) -> bool {
        match &self.cause {
            Cause::Configuration(_) => true,
            Cause::Transport(error) => error.is_configuration(),
            Cause::Validation(_) | Cause::Response => false,
        }
    }

    pub(crate) fn is_connect(&self) -> bool {
        use TransportErrorKind as Kind;
        matches!(self.transport_kind(), Some(Kind::Resolve | Kind::Connect | Kind::Tls))
    }

    pub(crate) fn is_timeout(&self) -> bool {
        self.transport_kind() == Some(TransportErrorKind::Timeout)
    }

    pub(crate) fn is_intermediary(&self) -> bool {
        self.judgement() == Some(Judgement::RejectedByIntermediary)
    }

    pub(crate) fn has_status(&self, status: StatusCode) -> bool {
        self.http_status() == Some(status)
    }

    pub(crate) fn violations(&self) -> &[Violation] {
        match &self.cause {
            Cause::Validation(error) => error.violations(),
            _ => &[],
        }
    }

    pub(crate) fn http_status(&self) -> Option<StatusCode> {
        self.metadata().map(|metadata| metadata.http_status)
    }

    pub(crate) fn status_code(&self) -> Option<&str> {
        self.metadata()?.status_code()
    }

    pub(crate) fn reason(&self) -> Option<&str> {
        let metadata = self.metadata()?;
        match metadata.message() {
            Some(message) => Some(message.strip_prefix(BAD_REQUEST_PREFIX).unwrap_or(message)),
            None => metadata.http_status.canonical_reason(),
        }
    }

    pub(crate) fn retry_after(&self) -> Option<RetryAfter> {
        self.metadata()?.retry_after
    }

    pub(crate) fn request_id(&self) -> Option<&str> {
        self.metadata()?.request_id()
    }

    pub(crate) fn body_snippet(&self) -> Option<String> {
        self.metadata().map(Metadata::body_snippet)
    }

    pub(crate) fn transport_error(&self) -> Option<&TransportError> {
        match &self.cause {
            Cause::Transport(error) => Some(error),
            _ => None,
        }
    }

    pub(crate) fn transport_kind(&self) -> Option<TransportErrorKind> {
        self.transport_error().map(TransportError::kind)
    }

    pub(crate) fn kind(&self) -> &'static str {
        match &self.cause {
            Cause::Configuration(_) => "configuration",
            Cause::Validation(_) => "validation",
            Cause::Transport(error) => error.kind().as_str(),
            Cause::Response => {
                let is_of_service = self.judgement() == Some(Judgement::RejectedByService);
                match self.http_status() {
                    Some(StatusCode::UNAUTHORIZED) if is_of_service => "unauthorized",
                    Some(StatusCode::NOT_FOUND) if is_of_service => "not_found",
                    _ if is_of_service => "rejected",
                    _ if self.is_intermediary() => "intermediary",
                    _ => "unclear_answer",
                }
            }
        }
    }

    pub(crate) fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.transport_error()?.source()
    }

    /// The first part of an error's text. `has_transaction` says whether the response names one.
    pub(crate) fn write_what_happened(
        &self,
        has_transaction: bool,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        if let Some(operation) = self.operation {
            write!(f, "{operation}: ")?;
        }
        match &self.cause {
            Cause::Configuration(error) => write!(f, "{error}"),
            Cause::Validation(error) => write!(f, "{error}"),
            Cause::Transport(error) => {
                write!(f, "{error}")?;
                // The cause of a configuration error is what to correct.
                let is_shown = f.alternate() || error.is_configuration();
                let mut source = error.source().filter(|_| is_shown);
                while let Some(cause) = source {
                    write!(f, ": {cause}")?;
                    source = cause.source();
                }
                Ok(())
            }
            Cause::Response => self.write_response(has_transaction, f),
        }
    }

    fn write_response(&self, has_transaction: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(FailedResponse { judgement, metadata }) = &self.response else {
            return f.write_str("the answer leaves it open, nothing");
        };
        f.write_str(match judgement {
            Judgement::RejectedByService => "the service answered ",
            Judgement::RejectedByIntermediary => "something in front of the service answered ",
            Judgement::Unclear | Judgement::Processed if self.is_foreign_forbidden() => {
                "something between here and the service answered, before or after the service acted, "
            }
            Judgement::Unclear | Judgement::Processed => "the answer leaves it open, ",
        })?;
        write!(f, "HTTP {}", metadata.http_status.as_u16())?;
        let is_success = metadata.http_status.is_success();
        let is_of_service = *judgement == Judgement::RejectedByService;
        let moves_money = self.operation.is_some_and(OperationName::moves_money);
        let is_near_success = *judgement == Judgement::Unclear && moves_money && is_success;
        let is_telling = |code: &&str| is_near_success || *code != metadata.http_status.as_str();
        let status_code = metadata.status_code().filter(is_telling);
        if let Some(code) = status_code {
            write!(f, " with status_code {code}")?;
        }
        if is_success {
            f.write_str(match (status_code, has_transaction) {
                (None, _) if is_of_service => " with an error body",
                (Some(_), _) if is_of_service => " and an error body",
                (None, _) if !moves_money => " without what was asked for",
                (Some(_), _) if !moves_money => ", without what was asked for",
                (None, false) => " without status_code 100 and a TransactionId",
                (None, true) => " without status_code 100",
                (Some(_), false) => ", without a TransactionId",
                (Some(_), true) => "",
            })?;
        }
        // The phrase of a 2xx, such as OK, is no reason why it is open or a refusal.
        match self.reason().filter(|_| !is_success || metadata.message().is_some()) {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }

    /// A 403 that does not read like the service's own: firewalls that inspect responses send it after the service has
    /// acted.
    pub(crate) fn is_foreign_forbidden(&self) -> bool {
        self.judgement() == Some(Judgement::Unclear)
            && self.has_status(StatusCode::FORBIDDEN)
            && self.operation.is_some_and(OperationName::moves_money)
    }

    /// The fields of `Debug`, after the type's own.
    pub(crate) fn debug_fields(&self, debug: &mut fmt::DebugStruct<'_, '_>) {
        let Self { operation, cause, response } = self;
        debug.field("operation", operation).field("cause", cause).field("response", response);
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(error) => error.fmt(f),
            Self::Validation(error) => error.fmt(f),
            Self::Transport(error) => error.fmt(f),
            Self::Response => f.write_str("Response"),
        }
    }
}
