use payments_core::{Operation, OperationName};
use payments_model::{Amount, ConvenienceFee, TokenId, TransactionId, TransactionRecord, TransactionType};
use serde::{Deserialize, Serialize};

/// The part of a request that may be stored: enough to tell a different request from the same one, and to find the payment in
/// the service's records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct IntentRequest {
    /// `None` for a [lost](Subject::Lost) one, unless it is a void, as a person has said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<OperationName>,
    /// What is charged, or voided.
    pub subject: Subject,
    /// The amount; a void has none.
    pub amount: Option<Amount>,
    /// Sale or authorization; a token payment and a void have none.
    pub transaction_type: Option<TransactionType>,
    /// Whether a fee applies, which changes the charge; a void has none.
    pub convenience_fee: Option<ConvenienceFee>,
    /// The caller's own reference, unmasked: a masked one would reconcile nothing.
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
    /// A stored token, unmasked.
    Token(TokenId),
    /// A transaction that is to be voided.
    Transaction(TransactionId),
    /// Not known, nor is anything else of the request: the entry was lost, and a person
    /// [named](crate::Journal::accept_history) its key.
    Lost,
}

impl IntentRequest {
    /// The operation; `None` if the entry was [lost](Subject::Lost) and no person has said that it was a
    /// [void](crate::Resolution::of_a_void).
    pub const fn operation(&self) -> Option<OperationName> {
        self.operation
    }

    /// Whether it has an amount that the journal has lost. A void has none.
    pub fn has_lost_amount(&self) -> bool {
        self.subject == Subject::Lost && self.operation.is_none()
    }

    /// What to search the service's records by if the outcome is unknown and there is no transaction to look up.
    pub fn search_by(&self) -> &'static str {
        match self.operation {
            Some(operation) if self.subject != Subject::Lost => {
                operation.search_by(self.reference.as_deref())
            }
            _ => "what your own records say about this key",
        }
    }

    /// A request of which only the key is known.
    pub(crate) const fn lost() -> Self {
        Self {
            operation: None,
            subject: Subject::Lost,
            amount: None,
            transaction_type: None,
            convenience_fee: None,
            reference: None,
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
            Subject::Lost => "subject",
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

/// Of any request that moves money.
impl<O: Operation<Error = payments_core::Error>> From<&O> for IntentRequest {
    fn from(operation: &O) -> Self {
        let facts = Operation::facts(operation);
        let subject = match (facts.token_id, facts.transaction_id, facts.last_four) {
            (Some(token), ..) => Subject::Token(token.clone()),
            (None, Some(id), _) => Subject::Transaction(id.clone()),
            (None, None, Some(last_four)) => Subject::Card { last_four: last_four.to_owned() },
            (None, None, None) => Subject::Account,
        };
        Self {
            operation: Some(facts.operation),
            subject,
            amount: facts.amount,
            transaction_type: facts.transaction_type,
            convenience_fee: facts.convenience_fee,
            reference: facts.reference.map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use payments_model::TokenTransaction;

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
