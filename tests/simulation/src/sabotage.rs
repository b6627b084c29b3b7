use std::fmt;

use bytes::Bytes;
use clap::ValueEnum;
use http::{Response, StatusCode};
use payments_core::{
    Delivery, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse,
};

use crate::Invariant;
use crate::violation::name_of;
use crate::wire::Wire;

/// A deliberate bug on the client side, to show that the simulation finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum Sabotage {
    /// The transport resends a request that may have been lost.
    SendsTwice,
    /// A proxy repeats a charge at the service, unseen by the client and the simulation.
    RepeatsAtService,
    /// The transport reports a lost response as a request that was not sent.
    LostResponseAsUnsent,
    /// The transport turns a lost response into a rejection.
    LostResponseAsRejected,
    /// The transport turns a lost response into a success.
    LostResponseAsSuccess,
    /// The transport reports a request that was not sent as unknown.
    UnsentAsUnknown,
    /// The client's deadline is twice the one that the caller set.
    IgnoresDeadlines,
    /// The observer does not see abandoned attempts.
    HidesAbandoned,
    /// A failed lookup is reported with an unknown outcome.
    LookupAsUnknown,
    /// The transport turns a proxy's 502 page into a rejection.
    BadGatewayAsRejected,
    /// The simulation itself skips some changes of the ledger.
    SkipsChanges,
}

impl Sabotage {
    /// The invariant that it violates.
    pub const fn violates(self) -> Invariant {
        match self {
            Self::SendsTwice => Invariant::PostedAtMostOnce,
            Self::RepeatsAtService => Invariant::ChargedAtMostOnce,
            Self::LostResponseAsUnsent => Invariant::NotProcessedIsTrue,
            Self::LostResponseAsRejected => Invariant::RejectedIsTrue,
            Self::LostResponseAsSuccess => Invariant::SuccessIsTrue,
            Self::UnsentAsUnknown => Invariant::UnsentIsNotProcessed,
            Self::IgnoresDeadlines => Invariant::EndsInTime,
            Self::HidesAbandoned => Invariant::AttemptsAreObserved,
            Self::LookupAsUnknown => Invariant::LookupsAreNeverUnknown,
            Self::BadGatewayAsRejected => Invariant::EndingFollowsEvidence,
            Self::SkipsChanges => Invariant::LedgerMatchesChanges,
        }
    }
}

impl fmt::Display for Sabotage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        name_of(self, f)
    }
}

/// The transport of a simulated client. It passes requests through unchanged unless there is a sabotage.
pub(crate) struct SabotagedTransport {
    pub(crate) wire: Wire,
    pub(crate) sabotage: Option<Sabotage>,
}

impl Transport for SabotagedTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let Some(sabotage) = self.sabotage.filter(|_| request.operation().moves_money()) else {
            return Box::pin(self.wire.send(request)).await;
        };
        let again = copy(&request);
        let result = Box::pin(self.wire.send(request)).await;
        let delivery = result.as_ref().map_err(TransportError::delivery);
        match (sabotage, delivery) {
            (Sabotage::SendsTwice, Err(Delivery::Unknown)) => Box::pin(self.wire.send(again)).await,
            (Sabotage::LostResponseAsUnsent, Err(Delivery::Unknown)) => {
                Err(TransportError::not_processed(TransportErrorKind::Closed))
            }
            (Sabotage::LostResponseAsRejected, Err(Delivery::Unknown)) => {
                Ok(response(StatusCode::BAD_REQUEST, r#"{"status":"failed","status_code":400,"msg":"no"}"#))
            }
            (Sabotage::LostResponseAsSuccess, Err(Delivery::Unknown)) => Ok(response(
                StatusCode::OK,
                r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_invented"}}"#,
            )),
            (Sabotage::UnsentAsUnknown, Err(Delivery::NotProcessed)) => {
                Err(TransportError::unknown(TransportErrorKind::Connect))
            }
            (Sabotage::BadGatewayAsRejected, Ok(read)) if read.status() == 502 => {
                Ok(response(StatusCode::BAD_REQUEST, "no"))
            }
            _ => result,
        }
    }
}

fn copy(request: &TransportRequest) -> TransportRequest {
    let mut copied = http::Request::new(request.body().clone());
    *copied.method_mut() = request.method().clone();
    *copied.uri_mut() = request.uri().clone();
    *copied.headers_mut() = request.headers().clone();
    TransportRequest::new(copied, request.operation(), request.deadlines(), request.response_cap())
}

fn response(status: StatusCode, body: &'static str) -> TransportResponse {
    let mut response = Response::new(Bytes::from_static(body.as_bytes()));
    *response.status_mut() = status;
    response.into()
}
