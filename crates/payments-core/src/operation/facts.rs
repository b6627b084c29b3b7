use std::fmt;

use payments_model::{Amount, ConvenienceFee, TokenId, TransactionId, TransactionType};

use super::name::OperationName;
use super::next_step::NextStep;

/// What identifies a request in the service's records: for logs, journals and people who search there.
///
/// It has no card number, account or API key, but a token, and the caller's own texts as they are: `Debug` shows neither.
///
/// ```
/// use payments_core::Operation;
/// use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
///
/// let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive)
///     .reference_no("order 17")
///     .build()?;
/// let facts = payment.facts();
/// assert_eq!((facts.amount, facts.reference), (Some(Amount::from_cents(10_50)), Some("order 17")));
/// assert!(facts.operation.moves_money());
/// # Ok::<(), payments_core::model::ValidationError>(())
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Facts<'a> {
    /// The operation. It says whether the request [moves money](OperationName::moves_money).
    pub operation: OperationName,
    /// The amount of a payment.
    pub amount: Option<Amount>,
    /// Sale or authorization, of a card or ACH payment.
    pub transaction_type: Option<TransactionType>,
    /// Whether a fee applies to a payment.
    pub convenience_fee: Option<ConvenienceFee>,
    /// The last four digits of the card.
    pub last_four: Option<&'a str>,
    /// The stored token that is charged. With it and the API key, anybody can charge the payer.
    ///
    /// It is masked in the texts of a response, such as an error's message, but not in ids and not in the data of a success. A token
    /// of fewer than eight characters is masked only where it stands alone, and only if it has a letter and a digit: any other may be a
    /// word or a number.
    pub token_id: Option<&'a TokenId>,
    /// The `ReferenceNo` of a token payment, unmasked. No other operation has one.
    pub reference: Option<&'a str>,
    /// The transaction to void or to look up.
    pub transaction_id: Option<&'a TransactionId>,
}

impl Facts<'_> {
    /// What a person does if the outcome of this request is unknown and there is no response.
    pub fn next_step(&self) -> NextStep {
        NextStep::new(self.transaction_id, self.operation.search_by(self.reference))
    }

    pub(crate) const fn new(operation: OperationName) -> Self {
        Self {
            operation,
            amount: None,
            transaction_type: None,
            convenience_fee: None,
            last_four: None,
            token_id: None,
            reference: None,
            transaction_id: None,
        }
    }
}

impl fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, amount, transaction_type, convenience_fee, last_four, .. } = self;
        let Self { token_id: _, reference: _, transaction_id: _, .. } = self;
        f.debug_struct("Facts")
            .field("operation", operation)
            .field("amount", amount)
            .field("transaction_type", transaction_type)
            .field("convenience_fee", convenience_fee)
            .field("last_four", last_four)
            .finish_non_exhaustive()
    }
}
