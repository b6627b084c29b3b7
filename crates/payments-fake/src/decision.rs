//! What the service would do with each request: a response and an effect, neither of which has happened yet.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use bytes::Bytes;
use http::{Response, StatusCode};
use payments_core::OperationName;
use payments_model::{
    Amount, CardTransaction, ConvenienceFee, CustomerId, Field, MaskedCard, TokenId, TokenTransaction,
    TransactionId, TransactionReceipt, TransactionRecord, TransactionRequest, TransactionType,
    TransactionTypeCode, Void,
};
use serde::Serialize;

use crate::envelope::{self, ErrorEnvelope};
use crate::fixtures::{seeded_customer, seeded_owner};
use crate::randomness::Randomness;
use crate::redaction::Redaction;
use crate::request::{Action, ParsedRequest};
use crate::settings::Settings;
use crate::store::{Effect, INVALID_TRANSACTION_ID, LateEffect, Store};
use crate::test_values::{self, TestEffect, TestField, TestValue};
use crate::transaction::COUNTRY_ID;
use crate::{
    Choices, EntryKind, EntryState, LedgerEntry, PaymentSource, StoredToken, UnlistedCards, VoidResponse,
};

/// What the service would respond, and what it would do.
pub(crate) struct Decision {
    pub(crate) response: Response<Bytes>,
    pub(crate) consequence: Consequence,
}

pub(crate) enum Consequence {
    /// It commits a payment, approved or declined, or a void, for this tenant.
    Commit { tenant: usize, effect: Effect },
    /// It only reads.
    LookUp,
    /// It changes nothing, for this reason, which has no secrets.
    Refuse(String),
}

impl Decision {
    fn refused(refusal: &ErrorEnvelope, redaction: &Redaction<'_>) -> Self {
        let reason = redaction.text(refusal.reason()).into_owned();
        Self { response: refusal.response(), consequence: Consequence::Refuse(reason) }
    }
}

/// Decides about the request for the tenant of its key.
pub(crate) fn decide(
    now: SystemTime,
    request: &ParsedRequest,
    settings: &Settings,
    stores: &[Store],
    late: &[LateEffect],
    randomness: &mut Randomness,
) -> Decision {
    let redaction = Redaction::of(settings.api_keys(), request.api_key.as_ref());
    let action = match &request.action {
        Ok(action) => action,
        Err(refusal) => return Decision::refused(refusal, &redaction),
    };
    let Some(tenant) = request.api_key.as_ref().and_then(|key| settings.tenant_with_key(key.as_bytes()))
    else {
        let refusal = ErrorEnvelope::new(StatusCode::UNAUTHORIZED, ErrorEnvelope::INVALID_API_KEY);
        return Decision::refused(&refusal, &redaction);
    };
    let (store, choices) = (&stores[tenant], &settings.choices);
    let mut decider = Decider { now, choices, redaction, tenant, store, late, randomness };
    match action {
        Action::Transaction(payment, account) => decider.transaction(payment, *account),
        Action::TokenTransaction(payment) => decider.token(payment),
        Action::Void(void) => decider.void(void),
        Action::GetTransaction(id) => decider.get_transaction(id),
        Action::GetCustomer(id) => decider.get_customer(id),
        Action::Refused(refusal) => Decision::refused(refusal, &decider.redaction),
    }
}

/// Decides about one request of one tenant.
struct Decider<'a> {
    now: SystemTime,
    choices: &'a Choices,
    /// Removes keys and card numbers from the texts that the service keeps.
    redaction: Redaction<'a>,
    tenant: usize,
    store: &'a Store,
    late: &'a [LateEffect],
    randomness: &'a mut Randomness,
}

/// The data of the response to a payment.
#[derive(Serialize)]
#[serde(untagged)]
enum PaymentData<'a> {
    Receipt(TransactionReceipt),
    Record {
        #[serde(flatten)]
        record: &'a TransactionRecord,
        /// The id of the new token, if the [choices](Choices::token_field) name a field for it.
        #[serde(flatten)]
        token: BTreeMap<&'a str, &'a TokenId>,
    },
}

/// Approved, or declined for a reason.
type Approval = Result<(), &'static str>;

impl Decider<'_> {
    fn commit(&self, response: Response<Bytes>, effect: Effect) -> Decision {
        Decision { response, consequence: Consequence::Commit { tenant: self.tenant, effect } }
    }

    fn refused(&self, reason: &'static str) -> Decision {
        Decision::refused(&ErrorEnvelope::bad_request(reason), &self.redaction)
    }

    fn transaction(&mut self, payment: &TransactionRequest, account: Option<&TestValue>) -> Decision {
        let (amount, billing, fee, transaction_type, card) = match payment {
            TransactionRequest::Card(card) => {
                (card.amount(), card.billing(), card.convenience_fee(), card.transaction_type(), Some(card))
            }
            TransactionRequest::Ach(ach) => {
                (ach.amount(), ach.billing(), ach.convenience_fee(), ach.transaction_type(), None)
            }
        };
        let number = card.map(|card| card.card_number().expose_secret());
        let row = number.map_or(account, |number| TestValue::find(TestField::CardNumber, number));
        let approval = match (row, self.choices.unlisted_cards) {
            (Some(TestValue { effect: TestEffect::Declines, result, .. }), _) => Err(*result),
            (None, UnlistedCards::Refused) if card.is_some() => {
                return self.refused("not a test card number");
            }
            (None, UnlistedCards::Declined) if card.is_some() => Err(DECLINED),
            _ => Ok(()),
        };
        if approval.is_ok() && billing.postal_code == test_values::INVALID_POSTAL_CODE {
            return self.refused("invalid postal code");
        }
        let id: TransactionId = self.new_id("txn_");
        let declines = row.is_some_and(|row| row.effect == TestEffect::DeclinesAsToken);
        let creates_token =
            |card: &&CardTransaction| card.payment_tokenization() == Some(true) && approval.is_ok();
        let new_token = card.filter(creates_token).map(|card| StoredToken {
            token_id: self.new_id("tok_"),
            gateway_customer_id: seeded_owner(),
            card: card.card_number().masked(),
            transaction_id: Some(id.clone()),
            declines,
        });
        let card = card.map(|card| card.card_number().masked());
        let text = |text: &str| Field::Value(self.redaction.text(text).into_owned());
        let mut record = TransactionRecord::new(id);
        record.card_number = card.clone().map_or(Field::Absent, Field::Value);
        record.billing_email = text(billing.email.as_str());
        record.billing_customer_name = text(&billing.customer_name);
        record.billing_address = text(billing.address.as_deref().unwrap_or_default());
        record.billing_city = text(billing.city.as_deref().unwrap_or_default());
        record.billing_state = billing.state.as_deref().map_or(Field::Null, text);
        record.billing_postal_code = text(&billing.postal_code);
        record.billing_country = country_number(&billing.country).into();
        record.billing_country_code = text(billing.country_code.as_str());
        record.billing_phone_number = text(&billing.phone_number);
        let source = card.map_or(PaymentSource::Account, PaymentSource::Card);
        let operation = OperationName::Transaction;
        let entry = self.entry(operation, transaction_type, amount, source, record, approval);
        self.payment(entry, fee, approval, new_token)
    }

    /// The payer is the seeded customer.
    fn token(&mut self, request: &TokenTransaction) -> Decision {
        let Some((card, approval)) = self.chargeable_token(request) else {
            return self.refused("invalid token");
        };
        let payer = seeded_customer();
        let mut record = TransactionRecord::new(self.new_id("txn_"));
        record.card_number = card.into();
        record.billing_email = payer.email;
        record.billing_customer_name = payer.customer_name;
        record.billing_address = payer.address;
        record.billing_city = payer.city;
        record.billing_state = Field::Null;
        record.billing_postal_code = payer.postal_code;
        record.billing_country = payer.country_id;
        record.billing_country_code = payer.country_code;
        record.billing_phone_number = payer.phone_number;
        let (operation, transaction_type) =
            (OperationName::TokenTransaction, self.choices.token_transaction_type);
        let source = PaymentSource::Token(request.token_id().clone());
        let mut entry = self.entry(operation, transaction_type, request.amount(), source, record, approval);
        let text = |text: &str| self.redaction.text(text).into_owned();
        entry.reference_no = request.reference_no().map(text);
        entry.description = request.description().map(text);
        self.payment(entry, request.convenience_fee(), approval, None)
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
            let late = self.late.iter().filter_map(|late| late.payment_of(self.tenant));
            let payments = self.store.transactions.values().map(|entry| &**entry).chain(late);
            let mut charges = payments.filter(|entry| entry.is_charge_of(id));
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

    /// A payment of this amount, without a fee.
    fn entry(
        &self,
        operation: OperationName,
        transaction_type: TransactionType,
        amount: Amount,
        source: PaymentSource,
        mut record: TransactionRecord,
        approval: Approval,
    ) -> LedgerEntry {
        let transaction_type = match transaction_type {
            TransactionType::GatewayDefault => self.choices.omitted_transaction_type,
            chosen => chosen,
        };
        let transaction_type = if transaction_type == TransactionType::Auth {
            TransactionTypeCode::AUTH
        } else {
            TransactionTypeCode::SALE
        };
        let state = approval.map_or(EntryState::Declined, |()| EntryState::Approved);
        record.base_amount = amount.into();
        record.transaction_type = transaction_type.into();
        record.status = self.choices.status_codes.of(state, transaction_type).into();
        LedgerEntry {
            operation,
            kind: EntryKind::of(operation, transaction_type),
            state,
            amount,
            source,
            reference_no: None,
            description: None,
            void_reason: None,
            at: self.now,
            record,
        }
    }

    /// The part that all payments have in common, once it is known whether they are approved.
    fn payment(
        &self,
        mut entry: LedgerEntry,
        fee: ConvenienceFee,
        approval: Approval,
        new_token: Option<StoredToken>,
    ) -> Decision {
        if let Some(fee) = self.choices.convenience_fee.filter(|_| fee == ConvenienceFee::Active) {
            let Some(amount) = entry.amount.checked_add(fee) else {
                return self.refused("invalid amount");
            };
            entry.amount = amount;
        }
        entry.record.amount = entry.amount.into();
        // The response to a card or ACH payment has its record, that to a token payment its `TransactionId`.
        let data = if entry.operation == OperationName::TokenTransaction {
            PaymentData::Receipt(TransactionReceipt::new(entry.transaction_id().clone()))
        } else {
            let token = self.choices.token_field.as_deref().zip(new_token.as_ref());
            let token = token.map(|(name, token)| (name, &token.token_id)).into_iter().collect();
            PaymentData::Record { record: &entry.record, token }
        };
        let response = match approval {
            Ok(()) => envelope::post(envelope::TRANSACTION_PROCESSED, &data),
            Err(reason) => envelope::declined(self.choices.decline_shape, reason, &data),
        };
        self.commit(response, Effect::Payment { entry: Box::new(entry), decline: approval.err(), new_token })
    }

    fn void(&mut self, void: &Void) -> Decision {
        let id = void.transaction_id();
        let stored = self.store.transactions.get(id).filter(|entry| entry.is_voidable());
        let Some(mut voided) = stored.map(|entry| Box::new(LedgerEntry::clone(entry))) else {
            return self.refused(INVALID_TRANSACTION_ID);
        };
        voided.record.status = self.choices.status_codes.voided.clone().into_owned().into();
        voided.void_reason = void.reason().map(|text| self.redaction.text(text).into_owned());
        let entry = (self.choices.void_response == VoidResponse::NewTransactionId).then(|| {
            let mut entry = voided.clone();
            entry.record.transaction_id = self.new_id("txn_");
            (entry.operation, entry.kind, entry.at) = (OperationName::Void, EntryKind::Void, self.now);
            entry
        });
        voided.state = EntryState::Voided;
        let receipt = TransactionReceipt::new(entry.as_ref().unwrap_or(&voided).transaction_id().clone());
        let response = envelope::post(envelope::TRANSACTION_VOIDED, &receipt);
        self.commit(response, Effect::Void { voided, entry })
    }

    fn get_transaction(&self, id: &str) -> Decision {
        let stored = TransactionId::from_response(id).and_then(|id| self.store.transactions.get(&id));
        let found = stored.map(|entry| envelope::get(envelope::TRANSACTION_FOUND, &entry.record));
        self.lookup(found, ErrorEnvelope::TRANSACTION_NOT_FOUND)
    }

    fn get_customer(&self, id: &str) -> Decision {
        let stored = CustomerId::from_response(id).and_then(|id| self.store.customers.get(&id));
        let seeded = (stored.is_none() && id == test_values::CUSTOMER).then(seeded_customer);
        let record = stored.or(seeded.as_ref());
        let found = record.map(|record| envelope::get(envelope::CUSTOMER_FOUND, record));
        self.lookup(found, ErrorEnvelope::CUSTOMER_NOT_FOUND)
    }

    fn lookup(&self, found: Option<Response<Bytes>>, not_found: &'static str) -> Decision {
        match found {
            Some(response) => Decision { response, consequence: Consequence::LookUp },
            None => Decision::refused(&ErrorEnvelope::new(StatusCode::NOT_FOUND, not_found), &self.redaction),
        }
    }

    /// An id that no record has or had.
    fn new_id<T: FromStr<Err: fmt::Debug>>(&mut self, prefix: &str) -> T {
        self.randomness.identifier(prefix).parse().expect("letters and digits are a valid id")
    }
}

/// The reason of a decline where the test values have no other.
const DECLINED: &str = "declined";

/// A country's number. Any other text, which may be a card number, is the seeded customer's country.
fn country_number(text: &str) -> i64 {
    text.parse::<u32>().map_or(COUNTRY_ID, i64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_country_has_its_number_or_that_of_the_seeded_customer_d35() {
        assert_eq!(country_number("840"), 840);
        for text in ["US", "us", "United States", "côte d’ivoire", " ", "-1", "4242424242424242"] {
            assert_eq!(country_number(text), 1, "{text}");
        }
    }
}
