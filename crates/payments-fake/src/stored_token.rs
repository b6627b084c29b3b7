use payments_model::{GatewayCustomerId, MaskedCard, TokenId, TransactionId};

/// A token that a payment with `PaymentTokenization` made, or a test.
///
/// The interface does not show how a program learns of it; a test asks [`FakeGateway::tokens`](crate::FakeGateway::tokens).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredToken {
    /// What `TokenId` of a token payment names.
    pub token_id: TokenId,
    /// The customer who owns it: the only `GatewayCustomerId` it can be charged with.
    pub gateway_customer_id: GatewayCustomerId,
    /// The card it was made from, masked.
    pub card: MaskedCard,
    /// The payment that made it, unless a test did.
    pub transaction_id: Option<TransactionId>,
    /// Whether every charge of it is declined, as its card demands.
    pub declines: bool,
}
