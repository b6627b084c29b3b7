//! The requests. A draft holds the fields of a builder or of a document. One function for each request checks a draft, and one
//! writes the body when it is first needed.

mod ach;
mod body;
mod card;
mod check;
mod choices;
mod contact;
mod draft;
mod members;
mod payer;
mod payment;
mod token;
mod transaction_request;
mod void;

pub use ach::{AchTransaction, AchTransactionBuilder};
pub use body::MAX_BODY_BYTES;
pub use card::{Card, CardTransaction, CardTransactionBuilder};
pub use choices::{ConvenienceFee, SuggestedMode, TransactionType};
pub use contact::{DialPrefix, Email};
pub use draft::{CARD_FIELDS, PAYMENT_FIELDS, TOKEN_FIELDS, VOID_FIELDS, request_field};
pub use members::RequestMembers;
pub use payer::{Billing, Payer, Shipping};
pub use token::{TokenTransaction, TokenTransactionBuilder};
pub use transaction_request::TransactionRequest;
pub use void::Void;
