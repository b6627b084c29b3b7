//! The contracts, one function each, in themes.
//!
//! One mistake breaks many contracts: fix the themes in the order of `docs/transport.md`. A [`Report`](crate::Report) has the same
//! order, but begins with the failures that can move money twice or give the API key away, and those that take a failure for a success.
//!
//! Every contract also checks the **general rules**:
//!
//! - No request reaches a server twice.
//! - No request is sent unencrypted to an `https` address.
//! - A request of which the server read even one byte is not reported as
//!   [`NotProcessed`](payments_core::Delivery::NotProcessed).
//! - Every call ends, no later than its deadline. A busy machine may take two seconds more.
//! - Nothing panics.
//! - The API key and the card number are in nothing that a program can print of the result.

pub mod answers;
pub mod broken_answers;
pub mod broken_tls;
pub mod connections;
pub mod deadlines;
pub mod environment;
pub mod gateway_errors;
pub mod http2;
pub mod late_connections;
pub mod limits;
pub mod lookups;
pub mod lost_answers;
pub mod never_sent;
pub mod other_routes;
pub mod requests;
pub mod secrecy;

use crate::{AnyStack, Verdict};

#[doc(hidden)]
#[macro_export]
macro_rules! __check_each {
    ({ $stack:ident $wanted:ident $verdicts:ident } $theme:ident: $($contract:ident,)*) => {
        $(
            if $wanted(stringify!($contract)) {
                $verdicts.push($crate::contracts::$theme::$contract($stack));
            }
        )*
    };
}

pub(crate) fn check_each(stack: &dyn AnyStack, wanted: &dyn Fn(&str) -> bool) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    crate::__each_theme!(__check_each { stack wanted verdicts });
    verdicts
}
