use bytes::Bytes;
use http::{Response, StatusCode};
use payments_core::{
    Delivery, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse,
};

use crate::Invariant;
use crate::wire::Wire;

/// The transport of a simulated client. It passes requests through unchanged unless there is a sabotage.
pub(crate) struct SabotagedTransport(pub(crate) Wire);

impl Transport for SabotagedTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let Some(sabotage) = self.0.shared.sabotage.filter(|_| request.operation().moves_money()) else {
            return Box::pin(self.0.send(request)).await;
        };
        let again = copy(&request);
        let result = Box::pin(self.0.send(request)).await;
        let delivery = result.as_ref().map_err(TransportError::delivery);
        match (sabotage, delivery) {
            (Invariant::PostedAtMostOnce, Err(Delivery::Unknown)) => Box::pin(self.0.send(again)).await,
            (Invariant::NotProcessedIsTrue, Err(Delivery::Unknown)) => {
                Err(TransportError::not_processed(TransportErrorKind::Closed))
            }
            (Invariant::RejectedIsTrue, Err(Delivery::Unknown)) => {
                Ok(response(StatusCode::BAD_REQUEST, r#"{"status":"failed","status_code":400,"msg":"no"}"#))
            }
            (Invariant::SuccessIsTrue, Err(Delivery::Unknown)) => Ok(response(
                StatusCode::OK,
                r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_invented"}}"#,
            )),
            (Invariant::UnsentIsNotProcessed, Err(Delivery::NotProcessed)) => {
                Err(TransportError::unknown(TransportErrorKind::Connect))
            }
            (Invariant::EndingFollowsEvidence, Ok(read)) if read.status() == 502 => {
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
