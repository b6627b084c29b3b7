//! A span for each call and one for each of its attempts, named by OpenTelemetry's conventions for HTTP clients.
//!
//! Only the transport runs within them. The observer does not, because its events have the same fields and each log line would
//! repeat them.

#[cfg(feature = "tracing")]
use tracing::field::Empty;

#[cfg(feature = "tracing")]
pub(super) use self::with_tracing::{Span, error_span};
#[cfg(not(feature = "tracing"))]
pub(super) use self::without_tracing::{Span, error_span};
use crate::error::{CallError, Error, Outcome};
use crate::observer::AttemptFailure;
use crate::{CallId, Endpoint, Facts, OperationName, Success};

/// The spans have the level of an error, so that a filter for errors keeps the span that an error belongs to.
#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "no span has fields"))]
pub(crate) fn of_call(facts: &Facts<'_>, reference: Option<&str>, id: CallId) -> Span {
    let operation = facts.operation.as_str();
    error_span!(
        target: "payments",
        "payment",
        "otel.name" = operation,
        "payment.operation" = operation,
        "payment.call_id" = %id,
        "payment.amount" = facts.amount.map(tracing::field::display),
        "payment.reference" = reference,
        "payment.outcome" = Empty,
        "error.type" = Empty,
    )
}

#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "no span has a parent"))]
pub(crate) fn of_attempt(call: &Span, operation: OperationName, endpoint: &Endpoint, attempt: u32) -> Span {
    let span = error_span!(
        target: "payments",
        parent: call.id(),
        "attempt",
        "otel.kind" = "client",
        "otel.name" = Empty,
        "otel.status_code" = Empty,
        "http.request.method" = operation.method(),
        "http.request.resend_count" = Empty,
        "server.address" = Empty,
        "server.port" = Empty,
        "url.template" = Empty,
        "http.response.status_code" = Empty,
        "error.type" = Empty,
    );
    if !span.is_disabled() {
        let (server, template) = (endpoint.server(), endpoint.url_template(operation));
        span.record("otel.name", format_args!("{} {template}", operation.method()).to_string());
        span.record("server.address", &*endpoint.shown_host());
        span.record("server.port", server.port());
        span.record("url.template", template);
        span.record("http.request.resend_count", (attempt > 1).then(|| attempt - 1));
    }
    span
}

/// Records how a call of this operation ended.
pub(crate) fn end_call<D, E: CallError>(
    span: &Span,
    operation: OperationName,
    result: &Result<Success<D>, E>,
) {
    if span.is_disabled() {
        return;
    }
    let outcome = match result {
        Ok(_) => operation.moves_money().then_some("processed"),
        Err(error) => {
            span.record("error.type", error_type(error));
            error.as_payment().map(Error::outcome).map(Outcome::as_str)
        }
    };
    span.record("payment.outcome", outcome);
}

/// Records how an attempt ended.
pub(crate) fn end_attempt<D, E: CallError>(span: &Span, result: &Result<Success<D>, E>) {
    if span.is_disabled() {
        return;
    }
    let status = match result {
        Ok(success) => Some(success.http_status()),
        Err(error) => {
            span.record("error.type", error_type(error));
            span.record("otel.status_code", "ERROR");
            error.failed_call().http_status()
        }
    };
    span.record("http.response.status_code", status.map(|status| status.as_u16()));
}

/// Records that a call was dropped during an attempt. `was_passed`: its request was passed to the transport.
pub(crate) fn drop_attempt(call: &Span, attempt: &Span, operation: OperationName, was_passed: bool) {
    for span in [attempt, call] {
        span.record("error.type", "dropped");
    }
    attempt.record("otel.status_code", "ERROR");
    if operation.moves_money() {
        let outcome = if was_passed { Outcome::Unknown } else { Outcome::NotProcessed };
        call.record("payment.outcome", outcome.as_str());
    }
}

fn error_type(error: &impl CallError) -> String {
    AttemptFailure::of(error).error_type(error.failed_call().http_status())
}

/// A panic of the subscriber must not lose the outcome of a payment. Without its span, a call has a disabled one.
#[cfg(feature = "tracing")]
mod with_tracing {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use tracing::field::Value;
    use tracing::{Id, Span as TracingSpan};

    fn caught<T>(call: impl FnOnce() -> T) -> Option<T> {
        catch_unwind(AssertUnwindSafe(call)).ok()
    }

    struct CaughtDrop<T>(Option<T>);

    impl<T> Drop for CaughtDrop<T> {
        fn drop(&mut self) {
            caught(|| drop(self.0.take()));
        }
    }

    pub(crate) struct Span(CaughtDrop<TracingSpan>);

    impl Span {
        pub(crate) fn new(make: impl FnOnce() -> TracingSpan) -> Self {
            Self(CaughtDrop(caught(make)))
        }

        pub(crate) fn id(&self) -> Option<Id> {
            self.0.0.as_ref()?.id()
        }

        pub(crate) fn is_disabled(&self) -> bool {
            self.0.0.as_ref().is_none_or(TracingSpan::is_disabled)
        }

        pub(crate) fn in_scope<T>(&self, of: impl FnOnce() -> T) -> T {
            let _entered = CaughtDrop(self.0.0.as_ref().and_then(|span| caught(|| span.enter())));
            of()
        }

        pub(crate) fn record(&self, field: &'static str, value: impl Value) {
            caught(|| self.0.0.as_ref().map(|span| span.record(field, value)));
        }
    }

    macro_rules! error_span {
        ($($field:tt)*) => {
            Span::new(|| tracing::error_span!($($field)*))
        };
    }
    pub(crate) use error_span;
}

/// A span of no size, which is disabled.
#[cfg(not(feature = "tracing"))]
mod without_tracing {
    pub(crate) struct Span;

    #[expect(clippy::unused_self, reason = "the methods of a span of tracing")]
    impl Span {
        pub(crate) const fn is_disabled(&self) -> bool {
            true
        }

        pub(crate) fn in_scope<T>(&self, of: impl FnOnce() -> T) -> T {
            of()
        }

        pub(crate) fn record<V>(&self, _: &str, _: V) {}
    }

    macro_rules! error_span {
        ($($field:tt)*) => {
            Span
        };
    }
    pub(crate) use error_span;
}
