//! One valid call of each kind. A command that needs a file reads it from stdin.

use payments_core::OperationName;

use crate::support::{CARD_PAYMENT, CHARGE, CREATE, Ended, TOKEN_PAYMENT, ach_payment, payments_at};

pub(crate) struct Case {
    arguments: &'static [&'static str],
    stdin: String,
    pub(crate) operation: OperationName,
}

/// The commands refer to the transaction `txn_1` and the customer `cus_1`.
pub(crate) fn every_command() -> [Case; 6] {
    use OperationName::{GetCustomer, GetTransaction, TokenTransaction, Transaction, Void};
    let case = |arguments, stdin: &str, operation| Case { arguments, stdin: stdin.to_owned(), operation };
    [
        case(&CREATE, CARD_PAYMENT, Transaction),
        case(&CREATE, &ach_payment(), Transaction),
        case(&CHARGE, TOKEN_PAYMENT, TokenTransaction),
        case(&["void", "txn_1", "--reason", "ordered twice"], "", Void),
        case(&["transaction", "get", "txn_1"], "", GetTransaction),
        case(&["customer", "get", "cus_1"], "", GetCustomer),
    ]
}

impl Case {
    pub(crate) fn moves_money(&self) -> bool {
        self.operation.moves_money()
    }

    pub(crate) fn run(&self, base_url: &str, more: &[&str]) -> Ended {
        payments_at(base_url, self.arguments.iter()).arguments(more.iter()).stdin(&*self.stdin).end()
    }
}
