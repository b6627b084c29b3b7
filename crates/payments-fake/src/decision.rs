//! What the service would do with each request: a response and an effect, neither of which has happened yet.

use std::borrow::Cow;
use std::hash::Hash;
use std::str::FromStr;
use std::time::SystemTime;

use bytes::Bytes;
use http::{Response, StatusCode};
use indexmap::IndexMap;
use payments_core::OperationName;
use payments_model::{
    Amount, CardTransaction, ConvenienceFee, CustomerId, MaskedCard, TokenTransaction, TransactionId,
    TransactionRequest, TransactionType, TransactionTypeCode, Void,
};

use crate::envelope::{ErrorEnvelope, SuccessEnvelope};
use crate::fixtures::{COUNTRY_ID, seeded, seeded_customer, seeded_owner};
use crate::randomness::Randomness;
use crate::redaction::{Redaction, quoted};
use crate::request::{Action, ParsedRequest};
use crate::store::{Effect, Store};
use crate::tenant::Tenants;
use crate::test_values::{self, TestEffect, TestField, TestValue};
use crate::transaction::{Transaction, TransactionDocument};
use crate::{Choices, EntryKind, EntryState, RequestEffect, StoredToken, UnlistedCards, VoidAnswer, reply};

/// What the service would respond, and what it would change.
pub(crate) type Decision = (Response<Bytes>, Option<Effect>);

/// Decides about the request for the tenant of its key.
pub(crate) fn decide(
    now: SystemTime,
    request: &ParsedRequest,
    tenants: &Tenants,
    choices: &Choices,
    randomness: &mut Randomness,
) -> Decision {
    if let Action::NotFound(response) = &request.action {
        return (response.clone(), None);
    }
    let Some(tenant) = request.api_key.as_ref().and_then(|key| tenants.with_key(key.as_bytes())) else {
        return (reply::error(StatusCode::UNAUTHORIZED, ErrorEnvelope::INVALID_API_KEY), None);
    };
    let store = &tenants.stores[tenant];
    let redaction = Redaction::of(&tenants.api_keys, None);
    let mut service = TenantService { now, choices, redaction, tenant, store, randomness };
    match &request.action {
        Action::Transaction(payment) => service.transaction(payment),
        Action::TokenTransaction(payment) => service.token(payment),
        Action::Void(void) => service.void(void),
        Action::GetTransaction(id) => (service.get_transaction(id), None),
        Action::GetCustomer(id) => (service.get_customer(id), None),
        Action::Refused(response) | Action::NotFound(response) => (response.clone(), None),
    }
}

/// The service for one request of one tenant.
struct TenantService<'a> {
    now: SystemTime,
    choices: &'a Choices,
    /// Removes keys and card numbers from the texts that the service keeps.
    redaction: Redaction<'a>,
    tenant: usize,
    store: &'a Store,
    randomness: &'a mut Randomness,
}

/// Approved, or declined for a reason.
type Approval = Result<(), &'static str>;

fn refused(reason: &str) -> Decision {
    (reply::bad_request(reason), None)
}

impl TenantService<'_> {
    fn transaction(&mut self, payment: &TransactionRequest) -> Decision {
        let (amount, billing, fee, transaction_type, card) = match payment {
            TransactionRequest::Card(card) => {
                (card.amount(), card.billing(), card.convenience_fee(), card.transaction_type(), Some(card))
            }
            TransactionRequest::Ach(ach) => {
                (ach.amount(), ach.billing(), ach.convenience_fee(), ach.transaction_type(), None)
            }
        };
        let number = card.map(|card| card.card_number().expose_secret());
        let row = number.and_then(|number| TestValue::find(TestField::CardNumber, number));
        let approval = match (row, self.choices.unlisted_cards) {
            (Some(TestValue { effect: TestEffect::Declines, result, .. }), _) => Err(*result),
            (None, UnlistedCards::Refused) if card.is_some() => return refused("not a test card number"),
            (None, UnlistedCards::Declined) if card.is_some() => Err(DECLINED),
            _ => Ok(()),
        };
        if approval.is_ok() && billing.postal_code == test_values::INVALID_POSTAL_CODE {
            return refused("invalid postal code");
        }
        let id = self.new_id("txn_", &self.store.transactions);
        let declines = row.is_some_and(|row| row.effect == TestEffect::DeclinesAsToken);
        let creates_token =
            |card: &&CardTransaction| card.payment_tokenization() == Some(true) && approval.is_ok();
        let new_token = card.filter(creates_token).map(|card| StoredToken {
            token_id: self.new_id("tok_", &self.store.tokens),
            gateway_customer_id: seeded_owner(),
            card: card.card_number().masked(),
            transaction_id: Some(id.clone()),
            declines,
        });
        let transaction = Transaction {
            transaction_id: id,
            base_amount: Some(amount),
            amount,
            card_number: card.map(|card| card.card_number().masked()),
            billing_email: self.redaction.text(billing.email.as_str()),
            billing_customer_name: self.redaction.text(&billing.customer_name),
            billing_address: self.redaction.text(billing.address.as_deref().unwrap_or_default()),
            billing_city: self.redaction.text(billing.city.as_deref().unwrap_or_default()),
            billing_state: billing.state.as_deref().map(|text| self.redaction.text(text)),
            billing_postal_code: self.redaction.text(&billing.postal_code),
            billing_country: Some(country_number(&billing.country)),
            billing_country_code: Cow::Borrowed(billing.country_code.as_str()),
            billing_phone_number: self.redaction.text(&billing.phone_number),
            transaction_type: type_code(match transaction_type {
                TransactionType::GatewayDefault => self.choices.omitted_transaction_type,
                TransactionType::Sale | TransactionType::Auth => transaction_type,
            }),
            status: None,
            operation: Some(OperationName::Transaction),
            reference_no: None,
            description: None,
            token_id: None,
            voided: false,
            declined: approval.is_err(),
            void_reason: None,
            processed_at: self.now,
        };
        self.payment(transaction, fee, approval, new_token)
    }

    /// The payer is the token's owner.
    fn token(&mut self, payment: &TokenTransaction) -> Decision {
        let Some((card, approval)) = self.chargeable_token(payment) else {
            return refused("invalid token");
        };
        let transaction = Transaction {
            transaction_id: self.new_id("txn_", &self.store.transactions),
            base_amount: Some(payment.amount()),
            amount: payment.amount(),
            card_number: Some(card),
            billing_email: seeded::EMAIL.into(),
            billing_customer_name: seeded::NAME.into(),
            billing_address: seeded::ADDRESS.into(),
            billing_city: seeded::CITY.into(),
            billing_state: None,
            billing_postal_code: seeded::POSTAL_CODE.into(),
            billing_country: Some(COUNTRY_ID),
            billing_country_code: seeded::COUNTRY_CODE.into(),
            billing_phone_number: seeded::PHONE_NUMBER.into(),
            transaction_type: type_code(self.choices.token_transaction_type),
            status: None,
            operation: Some(OperationName::TokenTransaction),
            reference_no: payment.reference_no().map(|text| self.redaction.text(text)),
            description: payment.description().map(|text| self.redaction.text(text)),
            token_id: Some(payment.token_id().clone()),
            voided: false,
            declined: approval.is_err(),
            void_reason: None,
            processed_at: self.now,
        };
        self.payment(transaction, payment.convenience_fee(), approval, None)
    }

    /// The card of the payment's token and whether the charge is approved; `None` if there is no such token, or if it
    /// belongs to another customer than the payment names.
    fn chargeable_token(&self, payment: &TokenTransaction) -> Option<(MaskedCard, Approval)> {
        let id = payment.token_id();
        let (owner, card, approval) = if let Some(stored) = self.store.tokens.get(id) {
            let approval = if stored.declines { Err(DECLINED) } else { Ok(()) };
            (stored.gateway_customer_id.as_str(), stored.card.clone(), approval)
        } else {
            let row = TestValue::find(TestField::TokenId, id.as_str())?;
            let mut charges =
                self.store.transactions.values().filter(|stored| stored.is_charge_of(id.as_str()));
            let approval = match row.effect {
                TestEffect::Removed => return None,
                TestEffect::Declines => Err(row.result),
                TestEffect::ApprovesTwice if charges.nth(1).is_some() => Err(DECLINED),
                _ => Ok(()),
            };
            (test_values::GATEWAY_CUSTOMER, MaskedCard::new(row.mirrored_card()), approval)
        };
        payment.gateway_customer_id().is_none_or(|given| given.as_str() == owner).then_some((card, approval))
    }

    /// The part that all payments have in common, once it is known whether they are approved.
    fn payment<'t>(
        &'t self,
        mut transaction: Transaction<'t>,
        fee: ConvenienceFee,
        approval: Approval,
        new_token: Option<StoredToken>,
    ) -> Decision {
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
        transaction.status = Some(Cow::Borrowed(code));
        let document = TransactionDocument::of(&transaction);
        // The response to a card or ACH payment has its record, that to a token payment its `TransactionId`.
        let data = if transaction.token_id.is_some() {
            receipt(&transaction.transaction_id)
        } else if let (Ok(()), Some(name), Some(token)) = (approval, &self.choices.token_field, &new_token) {
            format!("{},{}:{}}}", document.open_record(), quoted(name), quoted(token.token_id.as_str()))
        } else {
            document.record()
        };
        let response = match approval {
            Ok(()) => reply::post(SuccessEnvelope::TRANSACTION_PROCESSED, &data),
            Err(reason) => reply::declined(self.choices.decline_shape, reason, &data),
        };
        let effect = Effect {
            tenant: self.tenant,
            kind: if approval.is_ok() { RequestEffect::Charged } else { RequestEffect::Declined },
            id: transaction.transaction_id,
            before: None,
            after: document,
            entry: None,
            new_token,
        };
        (response, Some(effect))
    }

    fn void(&mut self, void: &Void) -> Decision {
        let id = void.transaction_id();
        let stored = self.store.transactions.get(id);
        let is_voidable = |stored: &Transaction<'_>| {
            stored.kind() == EntryKind::Authorisation && stored.state() == EntryState::Approved
        };
        let Some(authorised) = stored.map(TransactionDocument::read).filter(is_voidable) else {
            return refused("invalid transaction id");
        };
        let voided = Transaction {
            status: Some(self.choices.status_codes.voided.clone()),
            voided: true,
            void_reason: void.reason_text().map(|text| self.redaction.text(text)),
            ..authorised
        };
        let entry = (self.choices.void_answer == VoidAnswer::NewTransactionId).then(|| {
            let entry = Transaction {
                transaction_id: self.new_id("txn_", &self.store.transactions),
                operation: Some(OperationName::Void),
                voided: false,
                processed_at: self.now,
                ..voided.clone()
            };
            let document = TransactionDocument::of(&entry);
            (entry.transaction_id, document)
        });
        let receipt_id = entry.as_ref().map_or(id, |(id, _)| id);
        let response = reply::post(SuccessEnvelope::TRANSACTION_VOIDED, &receipt(receipt_id));
        let effect = Effect {
            tenant: self.tenant,
            kind: RequestEffect::Voided,
            id: id.clone(),
            before: stored.cloned(),
            after: TransactionDocument::of(&voided),
            entry,
            new_token: None,
        };
        (response, Some(effect))
    }

    fn get_transaction(&self, id: &str) -> Response<Bytes> {
        let stored = TransactionId::from_answer(id).and_then(|id| self.store.transactions.get(&id));
        let record = stored.map(TransactionDocument::record);
        let not_found = ErrorEnvelope::TRANSACTION_NOT_FOUND;
        reply::get(SuccessEnvelope::TRANSACTION_FOUND, record.as_deref(), not_found)
    }

    fn get_customer(&self, id: &str) -> Response<Bytes> {
        let stored = CustomerId::from_answer(id).and_then(|id| self.store.customers.get(&id));
        let seeded = || (id == test_values::CUSTOMER).then(|| seeded_customer().into());
        let record = stored.cloned().or_else(seeded);
        reply::get(SuccessEnvelope::CUSTOMER_FOUND, record.as_deref(), ErrorEnvelope::CUSTOMER_NOT_FOUND)
    }

    /// An unused id: a restored record may have an id that came from the same seed.
    fn new_id<T: FromStr + Hash + Eq, R>(&mut self, prefix: &str, taken: &IndexMap<T, R>) -> T {
        loop {
            if let Ok(id) = self.randomness.identifier(prefix).parse()
                && !taken.contains_key(&id)
            {
                return id;
            }
        }
    }
}

/// The reason of a decline where the test values have no other.
const DECLINED: &str = "declined";

fn type_code(transaction_type: TransactionType) -> TransactionTypeCode {
    match transaction_type {
        TransactionType::Auth => TransactionTypeCode::AUTH,
        TransactionType::Sale | TransactionType::GatewayDefault => TransactionTypeCode::SALE,
    }
}

/// The data of the response to a token payment or a void.
fn receipt(id: &TransactionId) -> String {
    format!(r#"{{"TransactionId":{}}}"#, quoted(id.as_str()))
}

/// A country's number. A short number is used unchanged; any other text, which may be a card number, is hashed.
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
    fn each_country_text_has_a_stable_number_d35() {
        assert_eq!(country_number("840"), 840);
        assert_eq!(country_number("US"), country_number("US"));
        for text in ["US", "us", "United States", "côte d’ivoire", " ", "-1", "4242424242424242"] {
            assert!((1..=999).contains(&country_number(text)), "{text}");
        }
    }
}
