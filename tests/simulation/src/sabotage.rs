use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use http::{Response, StatusCode};
use payments_core::{
    Delivery, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse,
};

use crate::Invariant;
use crate::wire::Wire;

/// A fault put into the client's side on purpose, to show that the simulation finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sabotage {
    /// The transport sends again what may have been lost.
    SendsTwice,
    /// A proxy repeats a charge at the service, out of everybody's sight.
    RepeatsAtTheService,
    /// The transport says of a lost answer that nothing was sent.
    CallsLostAnswersUnsent,
    /// The transport makes a refusal of a lost answer.
    CallsLostAnswersRefused,
    /// The transport makes a success of a lost answer.
    CallsLostAnswersSuccess,
    /// The transport gives no proof where nothing was sent.
    CallsUnsentUnknown,
    /// The client's deadline is twice what the caller asked for.
    IgnoresDeadlines,
    /// The observer is not told of an abandoned attempt.
    HushesAbandoned,
    /// A failed look-up is said to be of unknown outcome.
    CallsLookupsUnknown,
    /// The transport makes a refusal of a proxy's page about a bad gateway.
    CallsBadGatewaysRefused,
    /// The simulation itself does not look at every change of the ledger.
    LooksAway,
}

impl Sabotage {
    /// Every sabotage with the invariant that it breaks.
    pub const ALL: [(Self, Invariant); 11] = [
        (Self::SendsTwice, Invariant::PostedAtMostOnce),
        (Self::RepeatsAtTheService, Invariant::ChargedAtMostOnce),
        (Self::CallsLostAnswersUnsent, Invariant::NotProcessedIsTrue),
        (Self::CallsLostAnswersRefused, Invariant::RejectedIsTrue),
        (Self::CallsLostAnswersSuccess, Invariant::SuccessIsTrue),
        (Self::CallsUnsentUnknown, Invariant::UnsentIsNotProcessed),
        (Self::IgnoresDeadlines, Invariant::EndsInTime),
        (Self::HushesAbandoned, Invariant::AttemptsAreTold),
        (Self::CallsLookupsUnknown, Invariant::LookupsAreNeverUnknown),
        (Self::CallsBadGatewaysRefused, Invariant::EndingFollowsEvidence),
        (Self::LooksAway, Invariant::LedgerIsWhatWasSeen),
    ];

    /// The sabotage's name, such as `sends-twice`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SendsTwice => "sends-twice",
            Self::RepeatsAtTheService => "repeats-at-the-service",
            Self::CallsLostAnswersUnsent => "calls-lost-answers-unsent",
            Self::CallsLostAnswersRefused => "calls-lost-answers-refused",
            Self::CallsLostAnswersSuccess => "calls-lost-answers-success",
            Self::CallsUnsentUnknown => "calls-unsent-unknown",
            Self::IgnoresDeadlines => "ignores-deadlines",
            Self::HushesAbandoned => "hushes-abandoned",
            Self::CallsLookupsUnknown => "calls-lookups-unknown",
            Self::CallsBadGatewaysRefused => "calls-bad-gateways-refused",
            Self::LooksAway => "looks-away",
        }
    }
}

impl fmt::Display for Sabotage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Sabotage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().map(|(sabotage, _)| sabotage).find(|own| own.as_str() == text);
        found.ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|(sabotage, _)| sabotage.as_str()).collect();
            format!("there is no such sabotage; there are {}", names.join(", "))
        })
    }
}

/// The transport that a simulated client is given: an honest one, unless a test asked otherwise.
pub(crate) struct Saboteur {
    pub(crate) wire: Wire,
    pub(crate) sabotage: Option<Sabotage>,
}

impl Transport for Saboteur {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let Some(sabotage) = self.sabotage.filter(|_| request.operation().moves_money()) else {
            return self.wire.send(request).await;
        };
        let again = copy(&request);
        let result = self.wire.send(request).await;
        let delivery = result.as_ref().map_err(TransportError::delivery);
        match (sabotage, delivery) {
            (Sabotage::SendsTwice, Err(Delivery::Unknown)) => self.wire.send(again).await,
            (Sabotage::CallsLostAnswersUnsent, Err(Delivery::Unknown)) => {
                Err(TransportError::not_processed(TransportErrorKind::Closed))
            }
            (Sabotage::CallsLostAnswersRefused, Err(Delivery::Unknown)) => {
                Ok(answer(StatusCode::BAD_REQUEST, r#"{"status":"failed","status_code":400,"msg":"no"}"#))
            }
            (Sabotage::CallsLostAnswersSuccess, Err(Delivery::Unknown)) => Ok(answer(
                StatusCode::OK,
                r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_invented"}}"#,
            )),
            (Sabotage::CallsUnsentUnknown, Err(Delivery::NotProcessed)) => {
                Err(TransportError::unknown(TransportErrorKind::Connect))
            }
            (Sabotage::CallsBadGatewaysRefused, Ok(read)) if read.status() == 502 => {
                Ok(answer(StatusCode::BAD_REQUEST, "no"))
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

fn answer(status: StatusCode, body: &'static str) -> TransportResponse {
    let mut answer = Response::new(Bytes::from_static(body.as_bytes()));
    *answer.status_mut() = status;
    answer.into()
}
