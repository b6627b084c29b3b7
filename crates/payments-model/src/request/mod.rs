//! The requests: builders, one list of checks for each request, and a plain serde struct for its JSON.

mod ach;
mod billing;
mod card;
mod card_and_payer;
mod check;
mod choices;
mod contact;
mod document;
mod encode;
mod field_name;
mod given;
mod payment;
mod shipping;
mod token;
mod void;

pub use ach::{AchTransaction, AchTransactionBuilder, is_valid_routing_number};
pub use billing::Billing;
pub use card::{CardTransaction, CardTransactionBuilder};
pub use card_and_payer::{Card, CardInput, Payer, PayerInput};
pub use choices::{ConvenienceFee, SuggestedMode, TransactionType};
pub use contact::{DialPrefix, Email};
pub(crate) use document::BYTE_ORDER_MARK;
pub use document::{RequestMembers, TransactionRequest, UnknownFields};
pub use field_name::FieldName;
pub use given::Input;
pub use payment::{Payment, PaymentBuilder};
pub use shipping::Shipping;
pub use token::{TokenTransaction, TokenTransactionBuilder};
pub use void::Void;
