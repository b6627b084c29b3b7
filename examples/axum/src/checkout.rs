//! The routes, and what each outcome of a charge is to a browser.

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

/// Everything this service can be asked for.
pub(crate) fn routes(payments: JournaledClient) -> Router {
    Router::new()
        .route("/orders/{order}/pay", post(pay))
        .route("/orders/{order}/pay-with-another-card", post(pay_with_another_card))
        .route("/orders/{order}", get(order))
        .layer(middleware::from_fn(telemetry::in_span))
        // A balancer asks often, and that is nothing to trace.
        .route("/health", get(health))
        .with_state(payments)
}

/// What the browser has: the token that the service's own form made of the card. The price is the shop's to know.
#[derive(Deserialize)]
struct Card {
    token: String,
}

/// Charges the order. Sent again, after a lost response for one, it is answered with what became of the first try.
async fn pay(
    State(payments): State<JournaledClient>,
    Path(order): Path<String>,
    headers: HeaderMap,
    Json(card): Json<Card>,
) -> Result<Response, Refused> {
    let (key, payment) = charge(&order, &card)?;
    Ok(answer(payments.with_headers(passed_on(&headers)).process_token(&key, &payment).await))
}

/// Charges an order whose card was declined. It is a request of its own, for somebody must have decided it: a retry of the
/// first one must never try another card.
async fn pay_with_another_card(
    State(payments): State<JournaledClient>,
    Path(order): Path<String>,
    headers: HeaderMap,
    Json(card): Json<Card>,
) -> Result<Response, Refused> {
    let (key, payment) = charge(&order, &card)?;
    let payments = payments.with_headers(passed_on(&headers));
    Ok(answer(payments.after_rejection(&key).process_token(&payment).await))
}

/// What the journal has of the order.
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

/// Without its journal this service charges nothing, so it is not healthy.
async fn health(State(payments): State<JournaledClient>) -> StatusCode {
    match payments.journal().list(&[StateName::Sending], None, 1).await {
        Ok(_) => StatusCode::OK,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// One key for an order, whatever it is paid with: that is what lets a retry be recognised.
fn key_of(order: &str) -> Result<IntentKey, Refused> {
    IntentKey::new(format!("order-{order}")).map_err(|_| Refused(StatusCode::NOT_FOUND))
}

fn charge(order: &str, card: &Card) -> Result<(IntentKey, TokenTransaction), Refused> {
    let payment = TokenTransaction::builder(&*card.token, price_of(order), ConvenienceFee::Inactive);
    let payment = payment.reference_no(format!("order {order}")).build();
    Ok((key_of(order)?, payment.map_err(|_| Refused(StatusCode::UNPROCESSABLE_ENTITY))?))
}

/// A shop would look it up.
fn price_of(_order: &str) -> Amount {
    Amount::from_cents(10_50)
}

/// The id by which the logs of every service that a request passes can be found.
fn passed_on(headers: &HeaderMap) -> CallerHeaders {
    let mut passed_on = CallerHeaders::new();
    if let Some(id) = headers.get("x-request-id") {
        // An id that is no header of ours to send is not worth the payment.
        let _ = passed_on.insert("x-request-id", id.clone());
    }
    passed_on
}

/// Each outcome says to the browser's program what it may do next.
fn answer(charged: Result<Journaled<TransactionReceipt>, Error>) -> Response {
    let (status, body) = match charged {
        Ok(charged) => (
            StatusCode::OK,
            json!({"order": "paid", "transaction_id": charged.transaction_id, "recorded": charged.is_from_the_journal()}),
        ),
        Err(error) if error.is_in_progress() => (
            StatusCode::CONFLICT,
            json!({"order": "in progress", "next": "send the same request again in a moment"}),
        ),
        Err(error) => match error.outcome() {
            Outcome::Rejected => (
                StatusCode::PAYMENT_REQUIRED,
                json!({"order": "declined", "recorded": error.is_recorded(), "next": "offer another card"}),
            ),
            Outcome::NotProcessed => (
                StatusCode::SERVICE_UNAVAILABLE,
                json!({"order": "not paid", "next": "send the same request again"}),
            ),
            Outcome::Unknown => (
                StatusCode::ACCEPTED,
                json!({"order": "unknown", "next": "do not pay again: somebody looks into it"}),
            ),
        },
    };
    (status, Json(body)).into_response()
}

/// A request that is not even tried.
struct Refused(StatusCode);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}
