use std::borrow::Cow;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method};
use payments_model::unversioned::{Envelope, Status};

use super::data::ResponseData;
use super::facts::Facts;
use super::request::Request;
use crate::error::{CallError, Cause, FailedCall, FailedResponse};
use crate::response::{BodyForm, Meaning, Metadata, Received, Secrets};
use crate::{CallId, Endpoint, Success, TransportError};

/// One request and its end.
pub(crate) struct Exchange<'a> {
    request: Request<'a>,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) facts: Facts<'a>,
    pub(crate) secrets: Secrets<'a>,
    pub(crate) call_id: Option<CallId>,
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(request: Request<'a>, endpoint: &'a Endpoint, call_id: Option<CallId>) -> Self {
        let secrets = request.secrets(endpoint.keys());
        Self { request, endpoint, facts: request.facts(), secrets, call_id }
    }

    /// Builds the request.
    pub(crate) fn request(&self) -> Result<http::Request<Bytes>, Cause> {
        let body = self.request.body();
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let mut request = http::Request::new(body.map(Bytes::from_owner).unwrap_or_default());
        *request.uri_mut() = self.endpoint.uri(self.facts.operation, &self.request.path_id()?)?;
        let headers = request.headers_mut();
        // Leaves room for the headers of the HTTP stack.
        headers.reserve(if method == Method::POST { 7 } else { 5 });
        headers.insert(AUTHORIZATION, self.endpoint.api_key().header_value().clone());
        headers.insert(ACCEPT, JSON);
        // Without this header any coding would be acceptable (RFC 9110, 12.5.3), and an encoded response is unreadable.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(USER_AGENT, HeaderValue::from_static(SDK_VERSION));
        if method == Method::POST {
            headers.insert(CONTENT_TYPE, JSON);
        }
        *request.method_mut() = method;
        Ok(request)
    }

    /// Reads a whole response. The secrets are masked in the parts that are kept.
    pub(crate) fn read<D: ResponseData, E: CallError>(
        &self,
        response: &http::Response<Bytes>,
    ) -> Result<Success<D>, E> {
        let received = self.received(response, BodyForm::read(response, &self.secrets));
        // A failure is no success, whatever its data.
        let envelope = received.envelope.as_ref().filter(|envelope| envelope.status() != Status::Failure);
        let data = envelope.and_then(|envelope| D::read(envelope, &self.facts));
        match (received.meaning(data.is_some()), data) {
            (Meaning::Processed, Some(mut data)) => {
                data.redact_ids(&|id| self.secrets.redacted_id(id));
                received.redact_fields(data.other_fields());
                let metadata = Metadata::new(&received, &data);
                Ok(Success::new(data, metadata, self.call_id))
            }
            (meaning, _) => Err(self.failed(Cause::Response(FailedResponse::boxed(received, meaning)))),
        }
    }

    /// Converts the transport's evidence into an error.
    pub(crate) fn error_from_transport<E: CallError>(&self, mut error: TransportError) -> E {
        let response = error.take_partial().map(|partial| {
            let received = self.received(partial.as_http(), (BodyForm::Cut, None));
            let meaning = received.meaning(false);
            FailedResponse::boxed(received, meaning)
        });
        error.redact_source(&|text| self.secrets.redact(text));
        self.failed(Cause::Transport(error, response))
    }

    fn received<'r>(
        &'r self,
        response: &'r http::Response<Bytes>,
        (form, envelope): (BodyForm, Option<Envelope<'r>>),
    ) -> Received<'r> {
        let secrets = &self.secrets;
        let body = match &envelope {
            Some(envelope) => Cow::Borrowed(envelope.json()),
            None => String::from_utf8_lossy(response.body()),
        };
        let repeats_secrets = secrets.are_masked_in(&body);
        Received { response, form, envelope, facts: &self.facts, secrets, repeats_secrets }
    }

    /// The error of this exchange.
    pub(crate) fn failed<E: CallError>(&self, cause: Cause) -> E {
        let call = FailedCall { operation: Some(self.facts.operation), call_id: self.call_id, cause };
        E::from_call(call, &self.facts, &self.secrets)
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

const SDK_VERSION: &str = concat!("payments-core/", env!("CARGO_PKG_VERSION"));
