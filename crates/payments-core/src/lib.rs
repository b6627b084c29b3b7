//! payments-core
