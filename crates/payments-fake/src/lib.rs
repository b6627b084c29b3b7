//! payments-fake
