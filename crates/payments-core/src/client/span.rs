//! A span for each call and one for each of its attempts, named by OpenTelemetry's conventions for HTTP clients.
//! Without the feature `tracing` they do nothing.
//!
//! Only the transport runs within them. The observer does not, because its events have the same fields and each log line would
//! repeat them.

#[cfg(feature = "tracing")]
pub(crate) use with_tracing::{AttemptSpan, CallSpan};
#[cfg(not(feature = "tracing"))]
pub(crate) use without_tracing::{AttemptSpan, CallSpan};

#[cfg(feature = "tracing")]
mod with_tracing {
    use std::future::Future;

    use tracing::field::{Empty, display};
    use tracing::{Instrument as _, Span, error_span};

    use crate::observer::AttemptFailure;
    use crate::operation::OperationError as _;
    use crate::response::Secrets;
    use crate::{Endpoint, Operation, Outcome, Success};

    /// Has the level of an error, so that a filter for errors keeps the span that an error belongs to.
    pub(crate) struct CallSpan(Span);

    impl CallSpan {
        pub(crate) fn new<O: Operation>(operation: &O, endpoint: &Endpoint) -> Self {
            let span = error_span!(
                target: "payments",
                "payment",
                "otel.name" = O::NAME.as_str(),
                "payment.operation" = O::NAME.as_str(),
                "payment.amount" = Empty,
                "payment.reference" = Empty,
                "payment.outcome" = Empty,
                "error.type" = Empty,
            );
            if !span.is_disabled() {
                let facts = operation.facts();
                let secrets = Secrets::new(&operation.secrets(), Some(endpoint));
                span.record("payment.amount", facts.amount.map(display));
                span.record(
                    "payment.reference",
                    facts.reference.map(|reference| secrets.mask(reference, usize::MAX)),
                );
            }
            Self(span)
        }

        pub(crate) fn finish<O: Operation>(&self, result: &Result<Success<O::Data>, O::Error>) {
            match result {
                Ok(_) if O::NAME.moves_money() => {
                    self.0.record("payment.outcome", "processed");
                }
                Ok(_) => {}
                Err(error) => {
                    self.0.record("error.type", error_type::<O>(error));
                    if let Some(outcome) = error.outcome_to_observe() {
                        self.record_outcome(outcome);
                    }
                }
            }
        }

        fn record_outcome(&self, outcome: Outcome) {
            self.0.record("payment.outcome", outcome.as_str());
        }
    }

    /// If it is dropped before `finish`, it records that the call was dropped.
    pub(crate) struct AttemptSpan<'a> {
        call: &'a CallSpan,
        span: Span,
        moves_money: bool,
        is_unfinished: bool,
    }

    impl<'a> AttemptSpan<'a> {
        pub(crate) fn new<O: Operation>(call: &'a CallSpan, endpoint: &Endpoint, attempt: u32) -> Self {
            let span = error_span!(
                target: "payments",
                parent: &call.0,
                "attempt",
                "otel.kind" = "client",
                "otel.name" = Empty,
                "otel.status_code" = Empty,
                "http.request.method" = O::NAME.method(),
                "http.request.resend_count" = Empty,
                "server.address" = Empty,
                "server.port" = Empty,
                "url.template" = Empty,
                "http.response.status_code" = Empty,
                "error.type" = Empty,
            );
            if !span.is_disabled() {
                let (server, template) = (endpoint.server(), endpoint.url_template(O::NAME));
                span.record("otel.name", format_args!("{} {template}", O::NAME.method()).to_string());
                span.record("server.address", server.host());
                span.record("server.port", server.port());
                span.record("url.template", template);
                span.record("http.request.resend_count", (attempt > 1).then(|| attempt - 1));
            }
            Self { call, span, moves_money: O::NAME.moves_money(), is_unfinished: true }
        }

        pub(crate) fn in_scope<T>(&self, of: impl FnOnce() -> T) -> T {
            self.span.in_scope(of)
        }

        pub(crate) fn instrument<F: Future>(&self, future: F) -> impl Future<Output = F::Output> {
            future.instrument(self.span.clone())
        }

        pub(crate) fn finish<O: Operation>(mut self, result: &Result<Success<O::Data>, O::Error>) {
            self.is_unfinished = false;
            let status = match result {
                Ok(success) => Some(success.http_status()),
                Err(error) => {
                    self.span.record("error.type", error_type::<O>(error));
                    self.span.record("otel.status_code", "ERROR");
                    error.failure().http_status()
                }
            };
            self.span.record("http.response.status_code", status.map(|status| status.as_u16()));
        }
    }

    impl Drop for AttemptSpan<'_> {
        fn drop(&mut self) {
            if self.is_unfinished {
                for span in [&self.span, &self.call.0] {
                    span.record("error.type", "dropped");
                }
                self.span.record("otel.status_code", "ERROR");
                if self.moves_money {
                    self.call.record_outcome(Outcome::Unknown);
                }
            }
        }
    }

    fn error_type<O: Operation>(error: &O::Error) -> String {
        let failure = AttemptFailure::of(error);
        failure.error_type(error.failure().http_status())
    }
}

#[cfg(not(feature = "tracing"))]
#[allow(
    clippy::extra_unused_type_parameters,
    clippy::unused_self,
    reason = "the signatures are the same as with the feature"
)]
mod without_tracing {
    use std::future::Future;
    use std::marker::PhantomData;

    use crate::{Endpoint, Operation, Success};

    pub(crate) struct CallSpan;

    impl CallSpan {
        pub(crate) fn new<O: Operation>(_: &O, _: &Endpoint) -> Self {
            Self
        }

        pub(crate) fn finish<O: Operation>(&self, _: &Result<Success<O::Data>, O::Error>) {}
    }

    pub(crate) struct AttemptSpan<'a>(PhantomData<&'a CallSpan>);

    impl<'a> AttemptSpan<'a> {
        pub(crate) fn new<O: Operation>(_: &'a CallSpan, _: &Endpoint, _: u32) -> Self {
            Self(PhantomData)
        }

        pub(crate) fn in_scope<T>(&self, of: impl FnOnce() -> T) -> T {
            of()
        }

        pub(crate) fn instrument<F: Future>(&self, future: F) -> F {
            future
        }

        pub(crate) fn finish<O: Operation>(self, _: &Result<Success<O::Data>, O::Error>) {}
    }
}
