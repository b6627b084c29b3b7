use payments_core::OperationName;
use payments_model::{
    AchTransaction, Amount, CardTransaction, ConvenienceFee, TokenId, TokenTransaction, TransactionId,
    TransactionRecord, TransactionType, Void,
};
use serde::{Deserialize, Serialize};

/// The part of a request that may be stored: enough to tell a different request from the same one, and to find the payment in
/// the service's records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct IntentRequest {
    /// The operation.
    pub operation: OperationName,
    /// What is charged, or voided.
    pub subject: Subject,
    /// The amount; a void has none.
    pub amount: Option<Amount>,
    /// Sale or authorization; a token payment and a void have none.
    pub transaction_type: Option<TransactionType>,
    /// Whether a fee applies, which changes what is charged; a void has none.
    pub convenience_fee: Option<ConvenienceFee>,
    /// The caller's own reference, as it was sent: a masked one would reconcile nothing.
    pub reference: Option<String>,
}

/// What is charged or voided, without data that could be used to charge a card or an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Subject {
    /// A card, by the last four digits of its number.
    Card {
        /// The last four digits.
        last_four: String,
    },
    /// An account. Nothing about it is stored, so two accounts cannot be told apart.
    Account,
    /// A stored token, as it was sent.
    Token(TokenId),
    /// A transaction that is to be voided.
    Transaction(TransactionId),
}

impl IntentRequest {
    /// Only the operation and its subject; everything else is `None`.
    pub(crate) const fn new(operation: OperationName, subject: Subject) -> Self {
        Self {
            operation,
            subject,
            amount: None,
            transaction_type: None,
            convenience_fee: None,
            reference: None,
        }
    }

    /// What to search the service's records by if the outcome is unknown and there is no transaction to look up, as in
    /// [`Operation::search_by`](payments_core::Operation::search_by).
    pub fn search_by(&self) -> &'static str {
        match (&self.subject, &self.reference) {
            (Subject::Card { .. } | Subject::Account, _) => "amount, last four digits, payer's name and time",
            (Subject::Token(_), Some(_)) => "its reference, or by token, amount and time",
            (Subject::Token(_), None) => "token, amount and time",
            (Subject::Transaction(_), _) => "its transaction id",
        }
    }

    /// The names of the differences from `other` that matter for the money: `operation`, `card`, `token`, `amount` and the like.
    /// The reference does not matter.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let Self { operation, subject, amount, transaction_type, convenience_fee, reference: _ } = self;
        let subject_name = match subject {
            Subject::Card { .. } => "card",
            Subject::Account => "account",
            Subject::Token(_) => "token",
            Subject::Transaction(_) => "transaction",
        };
        [
            (*operation == other.operation, "operation"),
            (*subject == other.subject, subject_name),
            (*amount == other.amount, "amount"),
            (*transaction_type == other.transaction_type, "transaction type"),
            (*convenience_fee == other.convenience_fee, "convenience fee"),
        ]
        .into_iter()
        .filter_map(|(is_equal, name)| (!is_equal).then_some(name))
        .collect()
    }

    /// The reference, if it has any letter, digit or sign.
    pub(crate) fn reference_without_white_space(&self) -> Option<String> {
        let reference: String = self.reference.iter().flat_map(|text| text.split_whitespace()).collect();
        Some(reference).filter(|reference| !reference.is_empty())
    }

    /// Why this record cannot belong to this request; empty if nothing contradicts it.
    ///
    /// A field that the record does not show contradicts nothing. Either of its amounts may be the requested one, because their
    /// relation, for example with a convenience fee, is not published.
    pub fn contradictions(&self, record: &TransactionRecord) -> Vec<String> {
        let mut found = Vec::new();
        let mut shown: Vec<Amount> = [&record.amount, &record.base_amount]
            .into_iter()
            .filter_map(|field| field.value().copied())
            .collect();
        shown.dedup();
        if let Some(asked) = self.amount
            && !shown.is_empty()
            && !shown.contains(&asked)
        {
            let shown: Vec<_> = shown.iter().map(Amount::to_string).collect();
            found.push(format!("its amount is {}, and {asked} was to be charged", shown.join(" or ")));
        }
        if let Subject::Card { last_four: asked } = &self.subject
            && let Some(shown) = record.card_number.value().and_then(|card| card.last_four())
            && shown != asked
        {
            found.push(format!("its card ends in {shown}, and one that ends in {asked} was to be charged"));
        }
        found
    }
}

impl From<&CardTransaction> for IntentRequest {
    fn from(payment: &CardTransaction) -> Self {
        let last_four = payment.card_number().last_four().to_owned();
        Self {
            amount: Some(payment.amount()),
            transaction_type: Some(payment.transaction_type()),
            convenience_fee: Some(payment.convenience_fee()),
            ..Self::new(OperationName::Transaction, Subject::Card { last_four })
        }
    }
}

impl From<&AchTransaction> for IntentRequest {
    fn from(payment: &AchTransaction) -> Self {
        Self {
            amount: Some(payment.amount()),
            transaction_type: Some(payment.transaction_type()),
            convenience_fee: Some(payment.convenience_fee()),
            ..Self::new(OperationName::Transaction, Subject::Account)
        }
    }
}

impl From<&TokenTransaction> for IntentRequest {
    fn from(payment: &TokenTransaction) -> Self {
        let token = payment.token_id().clone();
        Self {
            amount: Some(payment.amount()),
            convenience_fee: Some(payment.convenience_fee()),
            reference: payment.reference_no().map(str::to_owned),
            ..Self::new(OperationName::TokenTransaction, Subject::Token(token))
        }
    }
}

impl From<&Void> for IntentRequest {
    fn from(void: &Void) -> Self {
        Self::new(OperationName::Void, Subject::Transaction(void.transaction_id().clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_and_reference_are_stored_as_sent_even_if_they_look_like_card_numbers_d52() {
        for text in ["4242424242424242", "4242 4242 4242 4242", "9405701444882224", "tok_approved", "\u{1}"] {
            let amount = Amount::from_cents(10_50);
            let payment =
                TokenTransaction::builder(text, amount, ConvenienceFee::Inactive).reference_no(text);
            let IntentRequest { subject, reference, .. } = (&payment.build().unwrap()).into();
            assert_eq!(subject, Subject::Token(TokenId::new(text).unwrap()));
            assert_eq!(reference.as_deref(), Some(text));
        }
    }
}
