//! Does `contract_tests!` run a theme with a small correct transport? The tests of the transports run every contract.

payments_conformance::contract_tests!(crate::support::PlainStack(None), themes: never_sent);
