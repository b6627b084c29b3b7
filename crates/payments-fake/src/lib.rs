//! The payment service as a pure state machine, for testing programs that take payments.
//!
//! The cases that cost money are the ones that a test account never shows: a response that is lost after the charge, a
//! token that works twice and then declines, a proxy's error page. Here each of them takes one line and microseconds, and
//! the ledger shows afterwards who was really charged.
//!
//! ```
//! use payments_core::model::{Amount, Card, CardTransaction, ConvenienceFee};
//! use payments_core::model::{Payer, TransactionType};
//! use payments_core::{Client, OperationName, Outcome};
//! use payments_fake::{FakeGateway, Fault, block_on, test_values};
//!
//! /// The code under test: takes the payment and returns the message for the customer.
//! async fn check_out(client: &Client, payment: &CardTransaction) -> &'static str {
//!     match client.process_card(payment).await {
//!         Ok(_) => "thank you",
//!         Err(error) => match error.outcome() {
//!             Outcome::NotProcessed => "please try again",
//!             Outcome::Rejected if error.is_decline() => "please use another card",
//!             Outcome::Rejected => "we cannot take payments now",
//!             Outcome::Unknown => "we are checking your payment",
//!         },
//!     }
//! }
//!
//! # let payer = Payer {
//! #     customer_name: "Ada Example",
//! #     email: "ada@example.com",
//! #     country_code: "+44",
//! #     phone_number: "020 7946 0000",
//! #     country: "GB",
//! #     postal_code: "SW1A 1AA",
//! #     ip_address: "203.0.113.7",
//! # };
//! let price = Amount::from_cents(10_50);
//! let card = Card { number: test_values::VISA, cvv: "123", expiry: "12/30" };
//! let fee = ConvenienceFee::Inactive;
//! let payment = CardTransaction::builder(price, TransactionType::Sale, fee, card, payer).build()?;
//!
//! let gateway = FakeGateway::new();
//! gateway.arm(Fault::response_lost(OperationName::Transaction));
//! let shown = block_on(check_out(&gateway.client(), &payment));
//! assert_eq!(shown, "we are checking your payment");
//!
//! // "Please try again" would have charged this card twice.
//! gateway.ledger().assert_charged_once(price);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The service
//!
//! [`FakeGateway`] implements the whole interface: the key check, validation by the types of `payments-model`, sales,
//! authorizations and voids, tokens, customers, both envelopes and every error. Well-known card numbers and tokens are
//! declined, each for its own reason; [`test_values`] has the table. Where the interface does not show what the service
//! does, the fake makes a choice. [`Choices`] lists them all.
//!
//! The core is a function, [`FakeGateway::handle`], from a time and a request to a [`Reply`]. Time, identifiers and
//! randomness come from outside, so the same seed replays a run byte for byte.
//!
//! # Faults
//!
//! A [`Fault`] separates the effect from the symptom: whether the payment takes place (before the symptom, after it or
//! never), and what the client sees. So a test can show a client the same closed connection twice and charge only once.
//! The [`Ledger`] tells the two cases apart. The client cannot, and must not act as if it could. [`Fault`] has the table of
//! what a client sees of each fault in each phase, and what the ledger then holds. A fault that is armed and never fires
//! fails the test.
//!
//! A [`Reply`] is what the network would carry. [`FakeTransport`] reports it as a transport over a real socket would, and
//! `payments-sandbox` turns it into real socket events, so a test in process and a test over TCP see the same bytes.
//!
//! # Time
//!
//! A [`ManualClock`] replaces the runtime: a deadline of a minute ends at once, or exactly when the test says so. A
//! [`Gate`] holds requests in flight until the test releases them. No test has to sleep and hope.
//!
//! # What it does not do
//!
//! - It promises nothing about the real service. A program that works only with the fake's [choices](Choices) is not
//!   finished.
//! - It keeps no card number and no security code: it redacts what it [records](RecordedRequest) before it stores it.
//! - It does no I/O. For other languages and other HTTP stacks, `payments-sandbox` serves it.

#[macro_use]
mod named;

mod armed_fault;
mod builder;
mod choices;
mod clock;
mod decision;
mod document;
mod envelope;
mod fault;
mod fault_document;
mod fixtures;
mod gate;
mod gateway;
mod gateway_core;
mod ledger;
mod randomness;
mod recorded_request;
mod redaction;
mod reply;
mod request;
mod settings;
mod store;
mod tenant;
pub mod test_values;
mod transaction;
mod transport;

pub use armed_fault::{ArmedFault, FaultId};
pub use builder::FakeGatewayBuilder;
pub use choices::{Choices, DeclineShape, StatusCodes, UnknownFields, UnlistedCards, VoidResponse};
pub use clock::{ManualClock, block_on};
pub use document::DocumentError;
pub use fault::{Fault, FaultKind, FaultMoment, FaultTarget, Phase};
pub use fixtures::{Fixtures, StoredToken};
pub use gate::Gate;
pub use gateway::FakeGateway;
pub use ledger::{EntryKind, EntryState, Ledger, LedgerEntry, PaymentSource};
pub use recorded_request::{RecordedRequest, RequestEffect};
pub use reply::Reply;
pub use tenant::Tenant;
pub use transport::{FakeTransport, ScriptedTransport};

/// For the other crates of this project only. It may change in any version.
#[doc(hidden)]
pub mod unversioned {
    pub use crate::document::representable;
    pub use crate::envelope::ErrorEnvelope;
    pub use crate::fault::fault_from_value;
    pub use crate::fixtures::all_fixtures;
    pub use crate::gateway_core::GatewayCore;
    pub use crate::recorded_request::OpenRecord;
    pub use crate::request::PATH_PREFIX;

    /// The successful responses of the service.
    pub mod success {
        pub use crate::envelope::{
            CUSTOMER_FOUND, TRANSACTION_FOUND, TRANSACTION_PROCESSED, TRANSACTION_VOIDED, get, post,
        };
    }
}
