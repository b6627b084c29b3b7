//! Does a small correct transport keep every contract?

payments_conformance::contract_tests!(crate::support::PlainStack(None));
