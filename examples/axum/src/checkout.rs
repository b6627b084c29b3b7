//! The routes, and the response for each outcome of a charge.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use payments_core::model::{
    Amount, ConvenienceFee, TokenTransaction, TransactionId, TransactionReceipt, mask,
};
use payments_core::{CallerHeaders, Outcome};
use payments_journal::{Cause, Error, Intent, IntentKey, IntentState, Journaled, JournaledClient, StateName};
use serde::Deserialize;
use serde_json::{Value, json};

/// All routes of this service.
pub(crate) fn routes(payments: JournaledClient) -> Router {
    Router::new()
        .route("/orders/{order}/pay", post(pay))
        .route("/orders/{order}/pay-with-another-card", post(pay_with_another_card))
        .route("/orders/{order}", get(order))
        .route("/unknown-payments", get(unknown_payments))
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
    Path(number): Path<String>,
    headers: HeaderMap,
    Json(card): Json<Card>,
) -> Result<Response, Refused> {
    let (key, payment) = Order::find(&number)?.charge(&card)?;
    Ok(respond(payments.with_headers(forwarded(&headers)).process_token(&key, &payment).await))
}

/// Charges an order whose card was declined. A separate request, because the customer must decide it: a retry of the first
/// one must never try another card.
async fn pay_with_another_card(
    State(payments): State<JournaledClient>,
    Path(number): Path<String>,
    headers: HeaderMap,
    Json(card): Json<Card>,
) -> Result<Response, Refused> {
    let (key, payment) = Order::find(&number)?.charge(&card)?;
    let payments = payments.with_headers(forwarded(&headers));
    Ok(respond(payments.after_rejection(&key).process_token(&payment).await))
}

/// The order's state in the journal.
async fn order(
    State(payments): State<JournaledClient>,
    Path(number): Path<String>,
) -> Result<Json<Value>, Refused> {
    let order = Order::find(&number)?;
    let intent = payments.journal().find(&order.key()?).await;
    let intent = intent.map_err(|_| Refused(StatusCode::SERVICE_UNAVAILABLE))?;
    let intent = intent.ok_or(Refused(StatusCode::NOT_FOUND))?;
    // What happened at another service, such as a sandbox, says nothing about this one.
    if intent.service.as_deref() != Some(payments.client().service()) {
        return Ok(Json(json!({"order": order.number, "state": "unknown"})));
    }
    Ok(Json(json!({
        "order": order.number,
        "state": intent.state.name().as_str(),
        "transaction_id": intent.transaction_id(),
    })))
}

/// The payments that a person must look for in the processor's records. A real shop shows them only to its finance people.
async fn unknown_payments(State(payments): State<JournaledClient>) -> Result<Json<Value>, Refused> {
    let journal = payments.journal();
    let unavailable = |_| Refused(StatusCode::SERVICE_UNAVAILABLE);
    // What a killed instance was sending is unknown too.
    journal.mark_crashed().await.map_err(unavailable)?;
    let mut unknown = Vec::new();
    let mut pages = journal.pages(&[StateName::Unknown]);
    while let Some(intents) = pages.next().await.map_err(unavailable)? {
        unknown.extend(intents.iter().map(|intent| {
            json!({
                "key": intent.key,
                "amount": intent.request.amount.map(|amount| amount.to_string()),
                "reference": intent.request.reference,
                "sent_at": humantime::format_rfc3339_millis(intent.begun_at).to_string(),
                "transaction_id": intent.transaction_id(),
                "search_by": intent.request.search_by(),
            })
        }));
    }
    Ok(Json(unknown.into()))
}

/// Unhealthy without the journal, because nothing is charged without it.
async fn health(State(payments): State<JournaledClient>) -> StatusCode {
    match payments.journal().pages(&[StateName::Sending]).next().await {
        Ok(_) => StatusCode::OK,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// The shop's record of an order.
struct Order {
    number: String,
    price: Amount,
}

impl Order {
    /// A real shop looks the order up. This one has an order for each number such as `17` or `2026-17`. As in a database, one
    /// record is found however its number is written in the URL: `017` is `17`.
    fn find(number: &str) -> Result<Self, Refused> {
        let parts: Result<Vec<u64>, _> = number.split('-').map(str::parse).collect();
        let parts = parts.map_err(|_| Refused(StatusCode::NOT_FOUND))?;
        let number = parts.iter().map(u64::to_string).collect::<Vec<_>>().join("-");
        Ok(Self { number, price: Amount::from_cents(10_50) })
    }

    /// One key for each order, whatever the card, so that a retry is recognized. It comes from the record and never from the
    /// URL: with two keys, one order would be charged twice.
    fn key(&self) -> Result<IntentKey, Refused> {
        IntentKey::new(format!("order-{}", self.number)).map_err(|_| Refused(StatusCode::NOT_FOUND))
    }

    fn charge(&self, card: &Card) -> Result<(IntentKey, TokenTransaction), Refused> {
        // The journal would store a card number that is sent as a token. If your tokens are numbers, check their own format instead.
        if mask(&card.token, &[]) != card.token {
            return Err(Refused(StatusCode::UNPROCESSABLE_ENTITY));
        }
        let payment = TokenTransaction::builder(&*card.token, self.price, ConvenienceFee::Inactive);
        let payment = payment.reference_no(format!("order {}", self.number)).build();
        Ok((self.key()?, payment.map_err(|_| Refused(StatusCode::UNPROCESSABLE_ENTITY))?))
    }
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
    let error = match charged {
        Ok(charged) => return paid(&charged.transaction_id, charged.is_from_the_journal()),
        Err(error) => error,
    };
    // The customer entered another card, and the order is already paid.
    if let Some(id) = error.intent().and_then(Intent::processed_as) {
        return paid(id, true);
    }
    let was_rejected = |intent: &Intent| matches!(intent.state, IntentState::Rejected(_));
    let (status, body) = match (error.outcome(), error.cause()) {
        // Nothing was sent now, and an earlier request may have paid.
        (_, Cause::Store(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, json!({"order": "unknown", "next": "repeat the same request"}))
        }
        (_, Cause::InProgress { .. }) => (
            StatusCode::CONFLICT,
            json!({"order": "in progress", "next": "repeat the same request after a moment"}),
        ),
        (Outcome::Unknown, _) => (
            StatusCode::ACCEPTED,
            json!({"order": "unknown", "next": "do not pay again: the payment is being checked"}),
        ),
        // No repeat of this request helps, because a plain call never tries another card.
        (_, cause) if error.is_decline() => (
            StatusCode::PAYMENT_REQUIRED,
            json!({"order": "declined", "recorded": !matches!(cause, Cause::Call(_)), "next": WITH_ANOTHER_CARD}),
        ),
        (_, Cause::KeyReused { intent, .. }) if !was_rejected(intent) => {
            (StatusCode::PAYMENT_REQUIRED, json!({"order": "not paid", "next": WITH_ANOTHER_CARD}))
        }
        (_, Cause::NoSuchIntent) => {
            (StatusCode::BAD_REQUEST, json!({"order": "not paid", "next": "POST /orders/{order}/pay"}))
        }
        // The token contains the API key, so no repetition of this request can help.
        (_, Cause::SecretInKey) => {
            (StatusCode::UNPROCESSABLE_ENTITY, json!({"order": "not paid", "next": "send a valid token"}))
        }
        // The service refuses the shop. A person fixes the cause, and allows the order to be sent again.
        (Outcome::Rejected, _) | (_, Cause::KeyReused { .. }) => (
            StatusCode::SERVICE_UNAVAILABLE,
            json!({"order": "not paid", "next": "repeat the same request later: the shop cannot take payments now"}),
        ),
        (Outcome::NotProcessed, _) => {
            (StatusCode::SERVICE_UNAVAILABLE, json!({"order": "not paid", "next": "repeat the same request"}))
        }
    };
    (status, Json(body)).into_response()
}

fn paid(transaction_id: &TransactionId, is_recorded: bool) -> Response {
    Json(json!({"order": "paid", "transaction_id": transaction_id, "recorded": is_recorded})).into_response()
}

const WITH_ANOTHER_CARD: &str = "offer another card: POST /orders/{order}/pay-with-another-card";

/// A request that is refused without a charge.
struct Refused(StatusCode);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}
