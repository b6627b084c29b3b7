use bytes::Bytes;
use payments_model::unversioned::{Code, Envelope, Status, salvage_transaction_id, salvaged_transaction_ids};
use payments_model::{OtherFields, TransactionId, TransactionRecord};

use super::body_form::{BodyForm, has_service_status};
use super::meaning::{Meaning, RefusedBy, Summary, meaning_for_lookup, meaning_for_payment};
use super::secrets::Secrets;
use crate::operation::Facts;

/// A response to a request with these facts and secrets, or the part of one that was read.
pub(crate) struct Received<'a> {
    pub(crate) response: &'a http::Response<Bytes>,
    pub(crate) form: BodyForm,
    pub(crate) envelope: Option<Envelope<'a>>,
    pub(crate) facts: &'a Facts<'a>,
    pub(crate) secrets: &'a Secrets<'a>,
    /// Whether the body has one of them.
    pub(crate) repeats_secrets: bool,
}

/// What an unsuccessful response contains about the transaction.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) transaction_id: Option<TransactionId>,
    pub(crate) record_status: Option<String>,
    pub(crate) record: Option<TransactionRecord>,
}

impl Received<'_> {
    /// What it means. `has_data`: it contains what a success of the operation needs.
    pub(crate) fn meaning(&self, has_data: bool) -> Meaning {
        let (http, envelope) = (self.response.status(), self.envelope.as_ref());
        let (is_whole, moves_money) = (self.form.is_whole(), self.facts.operation.moves_money());
        let is_searched = is_whole && moves_money && http.is_client_error();
        let summary = Summary {
            is_whole,
            status: envelope.map_or(Status::Absent, Envelope::status),
            code: envelope.map_or(Code::Absent, Envelope::status_code),
            has_data,
            names_transaction: is_searched && self.transaction_ids().next().is_some(),
        };
        if moves_money { meaning_for_payment(http, summary) } else { meaning_for_lookup(http, summary) }
    }

    /// What it contains about the transaction of a request that moves money. An id or a code that holds a secret is left out,
    /// because these are shown unmasked.
    pub(crate) fn found(&self, refused_by: Option<RefusedBy>) -> Found {
        let secrets = self.secrets;
        if !self.facts.operation.moves_money() {
            return Found::default();
        }
        let mut record = self.envelope.as_ref().and_then(Envelope::transaction_record);
        if let Some(record) = &mut record {
            self.redact_fields(&mut record.other);
        }
        let read = record.as_ref().map(|record| record.transaction_id.clone());
        let id = read.or_else(|| salvage_transaction_id(self.response.body()));
        // A refusal without the service's status that contains different ids: any of them may be the payment's.
        let is_ambiguous = refused_by.is_none()
            && self.response.status().is_client_error()
            && !has_service_status(self.envelope.as_ref())
            && self.transaction_ids().any(|other| Some(&other) != id.as_ref());
        let status = match &record {
            Some(record) => record.status.value().cloned(),
            None => self.envelope.as_ref().and_then(Envelope::data_status),
        };
        Found {
            transaction_id: id.filter(|id| !is_ambiguous && !secrets.are_in(id.as_str())),
            record_status: status.filter(|status| !secrets.are_in(status)),
            record: record.filter(|record| !secrets.are_in(record.transaction_id.as_str())),
        }
    }

    /// Redacts the secrets that these fields of it repeat.
    pub(crate) fn redact_fields(&self, fields: &mut OtherFields) {
        if self.repeats_secrets {
            self.secrets.redact_fields(fields);
        }
    }

    /// Every transaction id that can be read, in its documented place or anywhere in the bytes. The id of the transaction to void is
    /// left out, because a response may repeat it.
    fn transaction_ids(&self) -> impl Iterator<Item = TransactionId> {
        let to_void = self.facts.transaction_id;
        let read = self.envelope.as_ref().and_then(Envelope::transaction_id);
        read.into_iter()
            .chain(salvaged_transaction_ids(self.response.body()))
            .filter(move |id| Some(id) != to_void)
    }
}
