//! What the service would do with each request: an answer and an effect, neither of which has happened yet.

use std::time::SystemTime;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Request, Response, StatusCode};
use payments_core::OperationName;
use payments_model::{
    AchTransaction, Amount, CardTransaction, ConvenienceFee, CustomerId, ErrorEnvelope, Field, MaskedCard,
    RawJson, SuccessEnvelope, TokenId, TokenTransaction, TransactionId, TransactionReceipt,
    TransactionRecord, TransactionRequest, TransactionType, TransactionTypeCode, Void,
};
use serde_json::value::{RawValue, to_raw_value};

use crate::choices::{Choices, UnlistedCards, VoidAnswer};
use crate::randomness::Randomness;
use crate::record::{self, without_card_numbers};
use crate::route::Route;
use crate::store::{Effect, Store};
use crate::tenants::Tenants;
use crate::test_values::{self, TestEffect, TestField, TestValue};
use crate::transaction_document::TransactionDocument;
use crate::{EntryKind, EntryState, LedgerEntry, PaymentSource, StoredToken, answer, seeded_customer};

/// Chosen by this SDK: a request's body is at most 64 KiB.
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024;

/// What the service would answer, and what it would change.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) answer: Response<Bytes>,
    /// The change and the tenant it belongs to.
    pub(crate) effect: Option<(usize, Effect)>,
}

/// What would be done with the request, under whosever key it comes.
pub(crate) fn decide(
    now: SystemTime,
    route: &Route<'_>,
    request: &Request<Bytes>,
    tenants: &Tenants,
    choices: &Choices,
    randomness: &mut Randomness,
) -> Decision {
    let answered = |answer| Decision { answer, effect: None };
    match route {
        Route::UnknownPath => return answered(answer::error(StatusCode::NOT_FOUND, "Path not found")),
        Route::WrongMethod(allowed) => return answered(answer::method_not_allowed(allowed)),
        _ => {}
    }
    let key = request.headers().get(AUTHORIZATION);
    let Some(tenant) = key.and_then(|key| tenants.with_key(key.as_bytes())) else {
        return answered(answer::error(StatusCode::UNAUTHORIZED, ErrorEnvelope::INVALID_API_KEY));
    };
    let mut clerk = Clerk { now, choices, store: &tenants[tenant].store, randomness };
    let Ruling { answer, effect } = clerk.rule(route, request);
    Decision { answer, effect: effect.map(|effect| (tenant, effect)) }
}

/// The same before it is said whose it is.
struct Ruling {
    answer: Response<Bytes>,
    effect: Option<Effect>,
}

impl From<Response<Bytes>> for Ruling {
    fn from(answer: Response<Bytes>) -> Self {
        Self { answer, effect: None }
    }
}

/// Rules on the requests of one tenant.
struct Clerk<'a> {
    now: SystemTime,
    choices: &'a Choices,
    store: &'a Store,
    randomness: &'a mut Randomness,
}

/// Approved, or declined for a reason.
type Verdict = Result<(), &'static str>;

impl Clerk<'_> {
    fn rule(&mut self, route: &Route<'_>, request: &Request<Bytes>) -> Ruling {
        match route {
            Route::GetTransaction(id) => return self.get_transaction(id).into(),
            Route::GetCustomer(id) => return self.get_customer(id).into(),
            _ => {}
        }
        if !is_json(request.headers()) {
            let msg = "Content-Type must be application/json";
            return answer::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, msg).into();
        }
        let body = request.body();
        if body.len() > MAX_BODY_BYTES {
            let msg = format!("Request body is larger than {MAX_BODY_BYTES} bytes");
            return answer::error(StatusCode::PAYLOAD_TOO_LARGE, msg).into();
        }
        let unknown = self.choices.unknown_fields;
        let decision = match route {
            Route::TokenTransaction => {
                TokenTransaction::from_json_with(body, unknown).map(|payment| self.token(&payment))
            }
            Route::Void => Void::from_json_with(body, unknown).map(|void| self.void(&void)),
            _ => TransactionRequest::from_json_with(body, unknown).map(|payment| match payment {
                TransactionRequest::Card(payment) => self.card(&payment),
                TransactionRequest::Ach(payment) => self.ach(&payment),
            }),
        };
        decision.unwrap_or_else(|error| answer::bad_request(&error.to_string()).into())
    }

    fn card(&mut self, payment: &CardTransaction) -> Ruling {
        let row = TestValue::find(TestField::CardNumber, payment.card_number().expose_secret());
        let verdict = match row {
            Some(TestValue { effect: TestEffect::Declines, result, .. }) => Err(*result),
            None if self.choices.unlisted_cards == UnlistedCards::Refused => {
                return answer::bad_request("not a test card number").into();
            }
            None if self.choices.unlisted_cards == UnlistedCards::Declined => Err(DECLINED),
            Some(_) | None => Ok(()),
        };
        if verdict.is_ok() && payment.billing().postal_code() == test_values::INVALID_POSTAL_CODE {
            return answer::bad_request("invalid postal code").into();
        }
        let id = self.new_transaction_id();
        let card = payment.card_number().masked();
        let record = record::of_card(id.clone(), payment);
        let new_token =
            (payment.payment_tokenization() == Some(true) && verdict.is_ok()).then(|| StoredToken {
                token_id: self.new_token_id(),
                gateway_customer_id: seeded_customer::gateway_customer_id(),
                card: card.clone(),
                transaction_id: Some(id),
                declines: row.is_some_and(|row| row.effect == TestEffect::DeclinesAsToken),
            });
        self.payment(
            Payment {
                operation: OperationName::Transaction,
                transaction_type: self.sale_or_auth(payment.transaction_type()),
                base_amount: payment.amount(),
                fee: payment.convenience_fee(),
                source: PaymentSource::Card(card),
                reference_no: None,
                description: None,
                record,
                new_token,
            },
            verdict,
        )
    }

    fn ach(&mut self, payment: &AchTransaction) -> Ruling {
        if payment.billing().postal_code() == test_values::INVALID_POSTAL_CODE {
            return answer::bad_request("invalid postal code").into();
        }
        let id = self.new_transaction_id();
        self.payment(
            Payment {
                operation: OperationName::Transaction,
                transaction_type: self.sale_or_auth(payment.transaction_type()),
                base_amount: payment.amount(),
                fee: payment.convenience_fee(),
                source: PaymentSource::Account,
                reference_no: None,
                description: None,
                record: record::of_ach(id, payment),
                new_token: None,
            },
            Ok(()),
        )
    }

    fn token(&mut self, payment: &TokenTransaction) -> Ruling {
        let Some(token) = self.chargeable_token(payment) else {
            return answer::bad_request("invalid token").into();
        };
        let id = self.new_transaction_id();
        self.payment(
            Payment {
                operation: OperationName::TokenTransaction,
                transaction_type: type_code(self.choices.token_transaction_type),
                base_amount: payment.amount(),
                fee: payment.convenience_fee(),
                source: PaymentSource::Token(payment.token_id().clone()),
                reference_no: payment.reference_no().map(without_card_numbers),
                description: payment.description().map(without_card_numbers),
                record: record::of_token(id, payment.amount(), token.card),
                new_token: None,
            },
            token.verdict,
        )
    }

    /// The token that a payment names, if it is there and belongs to the customer that the payment names.
    fn chargeable_token(&self, payment: &TokenTransaction) -> Option<ChargeableToken> {
        let id = payment.token_id();
        let (owner, token) = if let Some(stored) = self.store.token(id) {
            let verdict = if stored.declines { Err(DECLINED) } else { Ok(()) };
            let token = ChargeableToken { verdict, card: stored.card.clone() };
            (stored.gateway_customer_id.as_str(), token)
        } else {
            let row = TestValue::find(TestField::TokenId, id.as_str())?;
            let verdict = match row.effect {
                TestEffect::Removed => return None,
                TestEffect::Declines => Err(row.result),
                TestEffect::ApprovesTwice if self.store.uses(id) >= 2 => Err(DECLINED),
                _ => Ok(()),
            };
            let card = MaskedCard::new(row.mirrored_card());
            (test_values::GATEWAY_CUSTOMER, ChargeableToken { verdict, card })
        };
        payment.gateway_customer_id().is_none_or(|given| given.as_str() == owner).then_some(token)
    }

    /// What all payments have in common, once it is known whether they are approved.
    fn payment(&self, payment: Payment, verdict: Verdict) -> Ruling {
        let Payment {
            operation,
            transaction_type,
            base_amount,
            fee,
            source,
            reference_no,
            description,
            mut record,
            new_token,
        } = payment;
        let fee = self.choices.convenience_fee.filter(|_| fee == ConvenienceFee::Active);
        let Some(amount) = fee.map_or(Some(base_amount), |fee| base_amount.checked_add(fee)) else {
            return answer::bad_request("invalid amount").into();
        };
        let codes = &self.choices.status_codes;
        let (kind, approved_code) = match transaction_type {
            TransactionTypeCode::AUTH => (EntryKind::Authorisation, &codes.authorised),
            _ => (EntryKind::Sale, &codes.sale),
        };
        let (state, code) = match verdict {
            Ok(()) => (EntryState::Approved, approved_code),
            Err(_) => (EntryState::Declined, &codes.declined),
        };
        record::decide(&mut record, amount, transaction_type, code);
        // Once, for the answer and for the books.
        let encoded = to_raw_value(&record).expect("a record is JSON");
        let answer = self.payment_answer(operation, &record, &encoded, new_token.as_ref(), verdict);
        let entry = LedgerEntry {
            operation,
            kind,
            state,
            amount,
            source,
            reference_no,
            description,
            void_reason: None,
            at: self.now,
            record,
        };
        let document = TransactionDocument::with_record(&entry, &encoded);
        let id = entry.record.transaction_id;
        Ruling { answer, effect: Some(Effect::Payment { id, document, new_token }) }
    }

    /// A card or ACH payment answers with its record, a token payment with its `TransactionId`.
    fn payment_answer(
        &self,
        operation: OperationName,
        record: &TransactionRecord,
        encoded: &RawValue,
        new_token: Option<&StoredToken>,
        verdict: Verdict,
    ) -> Response<Bytes> {
        let shape = self.choices.decline_shape;
        let message = SuccessEnvelope::TRANSACTION_PROCESSED;
        if operation == OperationName::TokenTransaction {
            let receipt = TransactionReceipt::new(record.transaction_id.clone());
            return match verdict {
                Ok(()) => answer::post(message, &receipt),
                Err(reason) => answer::declined(shape, reason, &receipt),
            };
        }
        match (verdict, &self.choices.token_field, new_token) {
            (Err(reason), ..) => answer::declined(shape, reason, &encoded),
            (Ok(()), Some(name), Some(token)) => {
                let mut shown = record.clone();
                let id = serde_json::to_string(token.token_id.as_str()).expect("a text is JSON");
                shown.other.insert(name.as_ref(), RawJson::parse(&id).expect("a text is JSON"));
                answer::post(message, &shown)
            }
            (Ok(()), ..) => answer::post(message, &encoded),
        }
    }

    fn void(&mut self, void: &Void) -> Ruling {
        let voidable = |entry: &LedgerEntry| entry.kind == EntryKind::Authorisation && entry.is_charged();
        let Some(voided) = self.store.transaction(void.transaction_id()).filter(voidable) else {
            return answer::bad_request("invalid transaction id").into();
        };
        let status = self.choices.status_codes.voided.clone().into_owned();
        let void_reason = void.reason_text().map(without_card_numbers);
        let entry = (self.choices.void_answer == VoidAnswer::NewTransactionId).then(|| {
            let mut record = voided.record.clone();
            record.transaction_id = self.new_transaction_id();
            record.status = Field::Value(status.clone());
            Box::new(LedgerEntry {
                operation: OperationName::Void,
                kind: EntryKind::Void,
                void_reason: void_reason.clone(),
                at: self.now,
                record,
                ..voided
            })
        });
        let answered_id =
            entry.as_ref().map_or_else(|| void.transaction_id(), |entry| entry.transaction_id());
        let answer =
            answer::post(SuccessEnvelope::TRANSACTION_VOIDED, &TransactionReceipt::new(answered_id.clone()));
        let transaction_id = void.transaction_id().clone();
        Ruling { answer, effect: Some(Effect::Void { transaction_id, status, reason: void_reason, entry }) }
    }

    fn get_transaction(&self, id: &str) -> Response<Bytes> {
        let document = TransactionId::new(id).ok().and_then(|id| self.store.document(&id));
        match document {
            Some(document) => answer::get(SuccessEnvelope::TRANSACTION_FOUND, &document.record()),
            None => answer::error(StatusCode::NOT_FOUND, ErrorEnvelope::TRANSACTION_NOT_FOUND),
        }
    }

    fn get_customer(&self, id: &str) -> Response<Bytes> {
        let customer = CustomerId::new(id).ok().and_then(|id| self.store.customer(&id));
        match customer {
            Some(customer) => answer::get(SuccessEnvelope::CUSTOMER_FOUND, customer),
            None if id == test_values::CUSTOMER => {
                answer::get(SuccessEnvelope::CUSTOMER_FOUND, &seeded_customer::record())
            }
            None => answer::error(StatusCode::NOT_FOUND, ErrorEnvelope::CUSTOMER_NOT_FOUND),
        }
    }

    fn sale_or_auth(&self, requested: TransactionType) -> TransactionTypeCode {
        let decided = match requested {
            TransactionType::GatewayDefault => self.choices.omitted_transaction_type,
            TransactionType::Sale | TransactionType::Auth => requested,
        };
        type_code(decided)
    }

    /// An id that no transaction has: a restored one may have been made from the same seed.
    fn new_transaction_id(&mut self) -> TransactionId {
        loop {
            let id = self.randomness.identifier("txn_").parse().expect(VALID_ID);
            if self.store.document(&id).is_none() {
                return id;
            }
        }
    }

    /// The same for tokens.
    fn new_token_id(&mut self) -> TokenId {
        loop {
            let id = self.randomness.identifier("tok_").parse().expect(VALID_ID);
            if self.store.token(&id).is_none() {
                return id;
            }
        }
    }
}

/// A payment of any kind before it is decided.
struct Payment {
    operation: OperationName,
    transaction_type: TransactionTypeCode,
    base_amount: Amount,
    fee: ConvenienceFee,
    source: PaymentSource,
    reference_no: Option<String>,
    description: Option<String>,
    record: TransactionRecord,
    new_token: Option<StoredToken>,
}

/// A token that is there.
struct ChargeableToken {
    verdict: Verdict,
    card: MaskedCard,
}

const VALID_ID: &str = "letters, digits and a low line are a valid id";

/// The reason where the test values give no other.
const DECLINED: &str = "declined";

fn type_code(transaction_type: TransactionType) -> TransactionTypeCode {
    match transaction_type {
        TransactionType::Auth => TransactionTypeCode::AUTH,
        TransactionType::Sale | TransactionType::GatewayDefault => TransactionTypeCode::SALE,
    }
}

/// Whether the body is declared as JSON; parameters such as a charset do not matter.
fn is_json(headers: &HeaderMap) -> bool {
    let essence = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()?.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_type_may_have_parameters_and_any_case() {
        let is_json =
            |text: &'static str| is_json(&HeaderMap::from_iter([(CONTENT_TYPE, text.parse().unwrap())]));
        assert!(is_json("application/json") && is_json("Application/JSON ; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("application/jsonp") && !is_json(""));
        assert!(!super::is_json(&HeaderMap::new()));
    }
}
