//! The routes, and the response for each outcome of a charge.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionReceipt};
use payments_core::{CallerHeaders, Outcome};
use payments_journal::{Error, IntentKey, Journaled, JournaledClient, StateName};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::telemetry;

/// All routes of this service.
pub(crate) fn routes(payments: JournaledClient) -> Router {
    Router::new()
        .route("/orders/{order}/pay", post(pay))
        .route("/orders/{order}/pay-with-another-card", post(pay_with_another_card))
        .route("/orders/{order}", get(order))
        .layer(middleware::from_fn(telemetry::in_span))
        // Not traced, because load balancers call it often.
        .route("/health", get(health))
        .with_state(payments)
}

/// The browser sends the token that the payment service's form created from the card. The price comes from the shop.
#[derive(Deserialize)]
struct Card {
    token: String,
}

/// Charges the order. A repeated request, for example after a lost response, gets the result of the first attempt.
async fn pay(
    State(payments): State<JournaledClient>,
    Path(order): Path<String>,
    headers: HeaderMap,
    Json(card): Json<Card>,
) -> Result<Response, Refused> {
    let (key, payment) = charge(&order, &card)?;
    Ok(respond(payments.with_headers(forwarded(&headers)).process_token(&key, &payment).await))
}

/// Charges an order whose card was declined. A separate request, because the customer must decide it: a retry of the first
/// one must never try another card.
async fn pay_with_another_card(
    State(payments): State<JournaledClient>,
    Path(order): Path<String>,
    headers: HeaderMap,
    Json(card): Json<Card>,
) -> Result<Response, Refused> {
    let (key, payment) = charge(&order, &card)?;
    let payments = payments.with_headers(forwarded(&headers));
    Ok(respond(payments.after_rejection(&key).process_token(&payment).await))
}

/// The order's state in the journal.
async fn order(
    State(payments): State<JournaledClient>,
    Path(order): Path<String>,
) -> Result<Json<Value>, Refused> {
    let key = key_of(&order)?;
    let intent = payments.journal().find(&key).await.map_err(|_| Refused(StatusCode::SERVICE_UNAVAILABLE))?;
    let intent = intent.ok_or(Refused(StatusCode::NOT_FOUND))?;
    Ok(Json(json!({
        "order": order,
        "state": intent.state.name().as_str(),
        "transaction_id": intent.transaction_id(),
    })))
}

/// Unhealthy without the journal, because nothing is charged without it.
async fn health(State(payments): State<JournaledClient>) -> StatusCode {
    match payments.journal().list(&[StateName::Sending], None, 1).await {
        Ok(_) => StatusCode::OK,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// One key for each order, whatever the card, so that a retry is recognized.
fn key_of(order: &str) -> Result<IntentKey, Refused> {
    IntentKey::new(format!("order-{order}")).map_err(|_| Refused(StatusCode::NOT_FOUND))
}

fn charge(order: &str, card: &Card) -> Result<(IntentKey, TokenTransaction), Refused> {
    let payment = TokenTransaction::builder(&*card.token, price_of(order), ConvenienceFee::Inactive);
    let payment = payment.reference_no(format!("order {order}")).build();
    Ok((key_of(order)?, payment.map_err(|_| Refused(StatusCode::UNPROCESSABLE_ENTITY))?))
}

/// A real shop looks the price up.
fn price_of(_order: &str) -> Amount {
    Amount::from_cents(10_50)
}

/// Forwards the request id, so that the logs of all services can be correlated.
fn forwarded(headers: &HeaderMap) -> CallerHeaders {
    let mut forwarded = CallerHeaders::new();
    if let Some(id) = headers.get("x-request-id") {
        // An id that cannot be sent must not stop the payment.
        let _ = forwarded.insert("x-request-id", id.clone());
    }
    forwarded
}

/// Tells the client for each outcome what to do next.
fn respond(charged: Result<Journaled<TransactionReceipt>, Error>) -> Response {
    let (status, body) = match charged {
        Ok(charged) => (
            StatusCode::OK,
            json!({"order": "paid", "transaction_id": charged.transaction_id, "recorded": charged.is_from_the_journal()}),
        ),
        Err(error) if error.is_in_progress() => (
            StatusCode::CONFLICT,
            json!({"order": "in progress", "next": "repeat the same request after a moment"}),
        ),
        Err(error) => match error.outcome() {
            Outcome::Rejected => (
                StatusCode::PAYMENT_REQUIRED,
                json!({"order": "declined", "recorded": error.is_recorded(), "next": "offer another card"}),
            ),
            Outcome::NotProcessed => (
                StatusCode::SERVICE_UNAVAILABLE,
                json!({"order": "not paid", "next": "repeat the same request"}),
            ),
            Outcome::Unknown => (
                StatusCode::ACCEPTED,
                json!({"order": "unknown", "next": "do not pay again: the payment is being checked"}),
            ),
        },
    };
    (status, Json(body)).into_response()
}

/// A request that is refused without a charge.
struct Refused(StatusCode);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}
