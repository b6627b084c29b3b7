//! What the service would do with each request: an answer and an effect, neither of which has happened yet.

use std::borrow::Cow;
use std::time::SystemTime;

use bytes::Bytes;
use http::{Response, StatusCode};
use payments_core::OperationName;
use payments_model::unversioned::{ErrorEnvelope, SuccessEnvelope};
use payments_model::{
    Amount, Billing, CardTransaction, ConvenienceFee, CustomerId, CustomerRecord, MaskedCard, TokenId,
    TokenTransaction, TransactionId, TransactionRequest, TransactionType, TransactionTypeCode, Void,
};

use crate::choices::{Choices, UnlistedCards, VoidAnswer};
use crate::fixtures::{COUNTRY_ID, seeded, seeded_customer, seeded_owner};
use crate::randomness::Randomness;
use crate::recorded_request::Decided;
use crate::redaction::{Redaction, quoted};
use crate::request::{Asked, UnderstoodRequest};
use crate::store::{Effect, Store};
use crate::tenant::Tenants;
use crate::test_values::{self, TestEffect, TestField, TestValue};
use crate::transaction::{Transaction, TransactionDocument};
use crate::{EntryKind, RequestEffect, StoredToken, reply};

/// What the service would answer, and what it would change.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) answer: Response<Bytes>,
    /// The change and the tenant it belongs to.
    pub(crate) effect: Option<(usize, Effect)>,
}

impl Decision {
    /// What the service does if the effect is committed.
    pub(crate) fn decided(&self) -> Decided {
        match &self.effect {
            Some((_, effect)) => effect.decided(),
            None if self.answer.status().is_success() => (RequestEffect::LookedUp, None),
            None => (RequestEffect::Refused, None),
        }
    }
}

/// What would be done with the request, under whosever key it comes.
pub(crate) fn decide(
    now: SystemTime,
    request: &UnderstoodRequest,
    tenants: &Tenants,
    choices: &Choices,
    randomness: &mut Randomness,
) -> Decision {
    if let Asked::NotFound(answer) = &request.asked {
        return Decision { answer: answer.clone(), effect: None };
    }
    let Some(tenant) = request.api_key.as_ref().and_then(|key| tenants.with_key(key.as_bytes())) else {
        let answer = reply::error(StatusCode::UNAUTHORIZED, ErrorEnvelope::INVALID_API_KEY);
        return Decision { answer, effect: None };
    };
    let redaction = Redaction::of(tenants.api_keys(), None);
    let mut service = Tenancy { now, choices, redaction, store: &tenants[tenant], randomness };
    let (answer, effect) = match &request.asked {
        Asked::Transaction(payment) => service.transaction(payment),
        Asked::TokenTransaction(payment) => service.token(payment),
        Asked::Void(void) => service.void(void),
        Asked::GetTransaction(id) => (service.get_transaction(id), None),
        Asked::GetCustomer(id) => (service.get_customer(id), None),
        Asked::Refused(answer) | Asked::NotFound(answer) => (answer.clone(), None),
    };
    Decision { answer, effect: effect.map(|effect| (tenant, effect)) }
}

/// The service as one tenant has it, at one moment.
struct Tenancy<'a> {
    now: SystemTime,
    choices: &'a Choices,
    redaction: Redaction<'a>,
    store: &'a Store,
    randomness: &'a mut Randomness,
}

/// Approved, or declined for a reason.
type Approval = Result<(), &'static str>;

type Answered = (Response<Bytes>, Option<Effect>);

fn refused(reason: &str) -> Answered {
    (reply::bad_request(reason), None)
}

impl Tenancy<'_> {
    fn transaction(&mut self, payment: &TransactionRequest) -> Answered {
        let (amount, billing, fee, transaction_type) = match payment {
            TransactionRequest::Card(payment) => {
                (payment.amount(), payment.billing(), payment.convenience_fee(), payment.transaction_type())
            }
            TransactionRequest::Ach(payment) => {
                (payment.amount(), payment.billing(), payment.convenience_fee(), payment.transaction_type())
            }
        };
        let card = match payment {
            TransactionRequest::Card(payment) => Some(payment),
            TransactionRequest::Ach(_) => None,
        };
        let number = card.map(|card| card.card_number().expose_secret());
        let row = number.and_then(|number| TestValue::find(TestField::CardNumber, number));
        let approval = match (row, self.choices.unlisted_cards) {
            (Some(TestValue { effect: TestEffect::Declines, result, .. }), _) => Err(*result),
            (None, UnlistedCards::Refused) if card.is_some() => return refused("not a test card number"),
            (None, UnlistedCards::Declined) if card.is_some() => Err(DECLINED),
            _ => Ok(()),
        };
        if approval.is_ok() && billing.postal_code() == test_values::INVALID_POSTAL_CODE {
            return refused("invalid postal code");
        }
        let id = self.new_transaction_id();
        let declines = row.is_some_and(|row| row.effect == TestEffect::DeclinesAsToken);
        let makes_token =
            |card: &&CardTransaction| card.payment_tokenization() == Some(true) && approval.is_ok();
        let new_token = card.filter(makes_token).map(|card| StoredToken {
            token_id: self.new_token_id(),
            gateway_customer_id: seeded_owner(),
            card: card.card_number().masked(),
            transaction_id: Some(id.clone()),
            declines,
        });
        let transaction = Transaction {
            card_number: card.map(|card| card.card_number().masked()),
            transaction_type: type_code(match transaction_type {
                TransactionType::GatewayDefault => self.choices.omitted_transaction_type,
                TransactionType::Sale | TransactionType::Auth => transaction_type,
            }),
            operation: Some(OperationName::Transaction),
            ..self.billed(Transaction::new(id, amount), billing)
        };
        self.payment(transaction, fee, approval, new_token)
    }

    fn billed<'b>(&self, transaction: Transaction<'b>, billing: &'b Billing) -> Transaction<'b> {
        let text = |text: &'b str| self.redaction.text(text);
        Transaction {
            billing_email: text(billing.email().as_str()),
            billing_customer_name: text(billing.customer_name()),
            billing_address: text(billing.address().unwrap_or_default()),
            billing_city: text(billing.city().unwrap_or_default()),
            billing_state: billing.state().map(text),
            billing_postal_code: text(billing.postal_code()),
            billing_country: Some(country_number(billing.country())),
            billing_country_code: Cow::Borrowed(billing.country_code().as_str()),
            billing_phone_number: text(billing.phone_number()),
            ..transaction
        }
    }

    /// The payer is the token's owner.
    fn token(&mut self, payment: &TokenTransaction) -> Answered {
        let Some((card, approval)) = self.chargeable_token(payment) else {
            return refused("invalid token");
        };
        let transaction = Transaction {
            card_number: Some(card),
            billing_email: seeded::EMAIL.into(),
            billing_customer_name: seeded::NAME.into(),
            billing_address: seeded::ADDRESS.into(),
            billing_city: seeded::CITY.into(),
            billing_postal_code: seeded::POSTAL_CODE.into(),
            billing_country: Some(COUNTRY_ID),
            billing_country_code: seeded::COUNTRY_CODE.into(),
            billing_phone_number: seeded::PHONE_NUMBER.into(),
            transaction_type: type_code(self.choices.token_transaction_type),
            operation: Some(OperationName::TokenTransaction),
            token_id: Some(payment.token_id().clone()),
            reference_no: payment.reference_no().map(|text| self.redaction.text(text)),
            description: payment.description().map(|text| self.redaction.text(text)),
            ..Transaction::new(self.new_transaction_id(), payment.amount())
        };
        self.payment(transaction, payment.convenience_fee(), approval, None)
    }

    /// The card of the token that a payment names, if the token is there and belongs to the customer that the payment
    /// names, and whether the charge is approved.
    fn chargeable_token(&self, payment: &TokenTransaction) -> Option<(MaskedCard, Approval)> {
        let id = payment.token_id();
        let (owner, card, approval) = if let Some(stored) = self.store.token(id) {
            let approval = if stored.declines { Err(DECLINED) } else { Ok(()) };
            (stored.gateway_customer_id.as_str(), stored.card.clone(), approval)
        } else {
            let row = TestValue::find(TestField::TokenId, id.as_str())?;
            let approval = match row.effect {
                TestEffect::Removed => return None,
                TestEffect::Declines => Err(row.result),
                TestEffect::ApprovesTwice if self.store.uses(id) >= 2 => Err(DECLINED),
                _ => Ok(()),
            };
            (test_values::GATEWAY_CUSTOMER, MaskedCard::new(row.mirrored_card()), approval)
        };
        payment.gateway_customer_id().is_none_or(|given| given.as_str() == owner).then_some((card, approval))
    }

    /// What all payments have in common, once it is known whether they are approved.
    fn payment<'t>(
        &'t self,
        mut transaction: Transaction<'t>,
        fee: ConvenienceFee,
        approval: Approval,
        new_token: Option<StoredToken>,
    ) -> Answered {
        let fee = self.choices.convenience_fee.filter(|_| fee == ConvenienceFee::Active);
        let base_amount = transaction.amount;
        let Some(amount) = fee.map_or(Some(base_amount), |fee: Amount| base_amount.checked_add(fee)) else {
            return refused("invalid amount");
        };
        let codes = &self.choices.status_codes;
        let code = match (approval, transaction.kind()) {
            (Err(_), _) => &codes.declined,
            (Ok(()), EntryKind::Authorisation) => &codes.authorised,
            (Ok(()), _) => &codes.sale,
        };
        transaction.amount = amount;
        transaction.declined = approval.is_err();
        transaction.status = Some(Cow::Borrowed(code));
        transaction.processed_at = self.now;
        let document = TransactionDocument::of(&transaction);
        // A card or ACH payment answers with its record, a token payment with its `TransactionId`.
        let data = if transaction.token_id.is_some() {
            receipt(&transaction.transaction_id)
        } else if let (Ok(()), Some(name), Some(token)) = (approval, &self.choices.token_field, &new_token) {
            format!("{},{}:{}}}", document.open_record(), quoted(name), quoted(token.token_id.as_str()))
        } else {
            document.record()
        };
        let answer = match approval {
            Ok(()) => reply::post(SuccessEnvelope::TRANSACTION_PROCESSED, &data),
            Err(reason) => reply::declined(self.choices.decline_shape, reason, &data),
        };
        let state = transaction.state();
        (answer, Some(Effect::Payment { id: transaction.transaction_id, state, document, new_token }))
    }

    fn void(&mut self, void: &Void) -> Answered {
        let voidable = |kept: &Transaction<'_>| kept.kind() == EntryKind::Authorisation && kept.is_charged();
        let voided = self.store.document(void.transaction_id()).map(TransactionDocument::read);
        let Some(voided) = voided.filter(voidable) else {
            return refused("invalid transaction id");
        };
        let status = self.choices.status_codes.voided.clone();
        let reason = void.reason_text().map(|text| self.redaction.text(text).into_owned());
        let entry = (self.choices.void_answer == VoidAnswer::NewTransactionId).then(|| {
            let transaction = Transaction {
                transaction_id: self.new_transaction_id(),
                status: Some(status.clone()),
                operation: Some(OperationName::Void),
                void_reason: reason.clone().map(Cow::Owned),
                processed_at: self.now,
                ..voided
            };
            let document = TransactionDocument::of(&transaction);
            (transaction.transaction_id, document)
        });
        let answered_id = entry.as_ref().map_or_else(|| void.transaction_id(), |(id, _)| id);
        let answer = reply::post(SuccessEnvelope::TRANSACTION_VOIDED, &receipt(answered_id));
        let transaction_id = void.transaction_id().clone();
        (answer, Some(Effect::Void { transaction_id, status: status.into_owned(), reason, entry }))
    }

    fn get_transaction(&self, id: &str) -> Response<Bytes> {
        let document = TransactionId::new(id).ok().and_then(|id| self.store.document(&id));
        match document {
            Some(document) => reply::get(SuccessEnvelope::TRANSACTION_FOUND, &document.record()),
            None => reply::error(StatusCode::NOT_FOUND, ErrorEnvelope::TRANSACTION_NOT_FOUND),
        }
    }

    fn get_customer(&self, id: &str) -> Response<Bytes> {
        let kept = CustomerId::new(id).ok().and_then(|id| self.store.customer(&id));
        let seeded = || (id == test_values::CUSTOMER).then(|| seeded_customer().to_json());
        match kept.map(CustomerRecord::to_json).or_else(seeded) {
            Some(customer) => reply::get(SuccessEnvelope::CUSTOMER_FOUND, &customer),
            None => reply::error(StatusCode::NOT_FOUND, ErrorEnvelope::CUSTOMER_NOT_FOUND),
        }
    }

    /// An id that no transaction has: a restored one may have been made from the same seed.
    fn new_transaction_id(&mut self) -> TransactionId {
        loop {
            let id = TransactionId::new(self.randomness.identifier("txn_")).expect(VALID_ID);
            if self.store.document(&id).is_none() {
                return id;
            }
        }
    }

    /// The same for tokens.
    fn new_token_id(&mut self) -> TokenId {
        loop {
            let id = TokenId::new(self.randomness.identifier("tok_")).expect(VALID_ID);
            if self.store.token(&id).is_none() {
                return id;
            }
        }
    }
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

/// What a token payment and a void answer.
fn receipt(id: &TransactionId) -> String {
    format!(r#"{{"TransactionId":{}}}"#, quoted(id.as_str()))
}

/// A country's number: the one that stands there, unless it is long enough for a card number, or else any number that is
/// always the same for the same text.
fn country_number(text: &str) -> i64 {
    // FNV-1a, because the standard library's hash may differ between its versions.
    let hash = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    text.parse::<u32>()
        .map_or_else(|_| i64::from(text.bytes().fold(2_166_136_261, hash) % 999) + 1, i64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d35_any_country_text_has_a_number_that_stays() {
        assert_eq!(country_number("840"), 840);
        assert_eq!(country_number("US"), country_number("US"));
        for text in ["US", "us", "United States", "côte d’ivoire", " ", "-1", "4242424242424242"] {
            assert!((1..=999).contains(&country_number(text)), "{text}");
        }
    }
}
