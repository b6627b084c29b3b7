//! One valid call of each kind. A command that needs a file reads it from stdin.

use crate::prelude::*;

pub(crate) struct Case {
    line: &'static str,
    stdin: String,
    pub(crate) operation: OperationName,
}

/// The commands refer to the transaction `txn_1` and the customer `cus_1`.
pub(crate) fn every_command() -> [Case; 6] {
    use OperationName::{GetCustomer, GetTransaction, TokenTransaction, Transaction, Void};
    let case = |line, stdin: &str, operation| Case { line, stdin: stdin.to_owned(), operation };
    [
        case(CREATE, CARD_PAYMENT, Transaction),
        case(CREATE, &ach_payment(), Transaction),
        case(CHARGE, TOKEN_PAYMENT, TokenTransaction),
        case("void txn_1 --reason 'ordered twice'", "", Void),
        case(GET, "", GetTransaction),
        case("customer get cus_1", "", GetCustomer),
    ]
}

impl Case {
    pub(crate) fn moves_money(&self) -> bool {
        self.operation.moves_money()
    }

    pub(crate) fn run(&self, base_url: &str, options: &str) -> Ended {
        payments_at(base_url, self.line).with(options).stdin(&*self.stdin).end()
    }
}
