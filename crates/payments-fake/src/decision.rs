//! What the service would do with each request: an answer and an effect, neither of which has happened yet.

use std::time::SystemTime;

use bytes::Bytes;
use http::{Response, StatusCode};
use payments_core::OperationName;
use payments_model::unversioned::{ErrorEnvelope, SuccessEnvelope};
use payments_model::{
    AchTransaction, Amount, CardTransaction, ConvenienceFee, CustomerId, Field, MaskedCard, RawJson, TokenId,
    TokenTransaction, TransactionId, TransactionReceipt, TransactionRecord, TransactionRequest,
    TransactionType, TransactionTypeCode, Void,
};

use crate::choices::{Choices, UnlistedCards, VoidAnswer};
use crate::randomness::Randomness;
use crate::record;
use crate::recorded_request::Decided;
use crate::redaction::Redaction;
use crate::store::{Effect, Store};
use crate::tenants::Tenants;
use crate::test_values::{self, TestEffect, TestField, TestValue};
use crate::transaction_document::TransactionDocument;
use crate::understood_request::{Asked, UnderstoodRequest};
use crate::{
    EntryKind, EntryState, LedgerEntry, PaymentSource, RequestEffect, StoredToken, answer, seeded_customer,
};

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
        let answer = answer::error(StatusCode::UNAUTHORIZED, ErrorEnvelope::INVALID_API_KEY);
        return Decision { answer, effect: None };
    };
    let redaction = Redaction::of(tenants.api_keys(), None);
    let mut clerk = Clerk { now, choices, redaction, store: &tenants[tenant], randomness };
    let Ruling { answer, effect } = clerk.rule(&request.asked);
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
    redaction: Redaction<'a>,
    store: &'a Store,
    randomness: &'a mut Randomness,
}

/// Approved, or declined for a reason.
type Verdict = Result<(), &'static str>;

impl Clerk<'_> {
    fn rule(&mut self, asked: &Asked) -> Ruling {
        match asked {
            Asked::Transaction(payment) => match &**payment {
                TransactionRequest::Card(payment) => self.card(payment),
                TransactionRequest::Ach(payment) => self.ach(payment),
            },
            Asked::TokenTransaction(payment) => self.token(payment),
            Asked::Void(void) => self.void(void),
            Asked::GetTransaction(id) => self.get_transaction(id).into(),
            Asked::GetCustomer(id) => self.get_customer(id).into(),
            Asked::Refused(answer) | Asked::NotFound(answer) => answer.clone().into(),
        }
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
        let record = record::of_card(id.clone(), payment, card.clone(), &self.redaction);
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
                record: record::of_ach(id, payment, &self.redaction),
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
                reference_no: payment.reference_no().map(|text| self.kept(text)),
                description: payment.description().map(|text| self.kept(text)),
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
        let document = TransactionDocument::of(&entry);
        let answer = self.payment_answer(&entry, &document, new_token.as_ref(), verdict);
        let id = entry.record.transaction_id;
        Ruling { answer, effect: Some(Effect::Payment { id, state, document, new_token }) }
    }

    /// A card or ACH payment answers with its record, a token payment with its `TransactionId`.
    fn payment_answer(
        &self,
        entry: &LedgerEntry,
        document: &TransactionDocument,
        new_token: Option<&StoredToken>,
        verdict: Verdict,
    ) -> Response<Bytes> {
        let data = if entry.operation == OperationName::TokenTransaction {
            TransactionReceipt::new(entry.transaction_id().clone()).to_json()
        } else if let (Ok(()), Some(name), Some(token)) = (verdict, &self.choices.token_field, new_token) {
            let mut shown = entry.record.clone();
            let id = serde_json::to_string(token.token_id.as_str()).expect("a text is JSON");
            shown.other.insert(name.as_ref(), RawJson::parse(&id).expect("a text is JSON"));
            shown.to_json()
        } else {
            document.record()
        };
        match verdict {
            Ok(()) => answer::post(SuccessEnvelope::TRANSACTION_PROCESSED, &data),
            Err(reason) => answer::declined(self.choices.decline_shape, reason, &data),
        }
    }

    fn void(&mut self, void: &Void) -> Ruling {
        let voidable = |entry: &LedgerEntry| entry.kind == EntryKind::Authorisation && entry.is_charged();
        let Some(voided) = self.store.transaction(void.transaction_id()).filter(voidable) else {
            return answer::bad_request("invalid transaction id").into();
        };
        let status = self.choices.status_codes.voided.clone().into_owned();
        let void_reason = void.reason_text().map(|text| self.kept(text));
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
        let receipt = TransactionReceipt::new(answered_id.clone()).to_json();
        let answer = answer::post(SuccessEnvelope::TRANSACTION_VOIDED, &receipt);
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
            Some(customer) => answer::get(SuccessEnvelope::CUSTOMER_FOUND, &customer.to_json()),
            None if id == test_values::CUSTOMER => {
                answer::get(SuccessEnvelope::CUSTOMER_FOUND, &seeded_customer::record().to_json())
            }
            None => answer::error(StatusCode::NOT_FOUND, ErrorEnvelope::CUSTOMER_NOT_FOUND),
        }
    }

    /// A free text as it may be kept.
    fn kept(&self, text: &str) -> String {
        self.redaction.text(text).into_owned()
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
