//! The contracts, each a function of the stack that is put to the test.
//!
//! Every one of them also holds what is owed in every situation: no request reaches a server twice, none of which the
//! server read a byte is called [`NotProcessed`](payments_core::Delivery::NotProcessed), every call ends, nothing
//! panics, and neither key nor card number is in anything that a program may print of the result.

pub mod answers;
pub mod lost_answers;
pub mod never_sent;
pub mod requests;

use crate::{Stack, Verdict};

/// Hands the list of all contracts to a macro of this crate.
///
/// The only list there is: a contract that stands here is a test, and in the report.
#[doc(hidden)]
#[macro_export]
macro_rules! __each_contract {
    ($callback:ident $arguments:tt) => {
        $crate::$callback! {
            $arguments
            requests::a_payment_arrives_byte_for_byte,
            answers::every_status_from_200_to_599_is_an_answer,
            lost_answers::fin_after_the_request_is_unknown,
            lost_answers::reset_after_the_request_is_unknown,
            never_sent::refused_is_not_processed,
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __check_all {
    ({ $checked:ident } $($theme:ident :: $contract:ident,)*) => {
        vec![$($crate::contracts::$theme::$contract($checked)),*]
    };
}

pub(crate) fn check_all(stack: &impl Stack) -> Vec<Verdict> {
    __each_contract!(__check_all { stack })
}
