//! payments-model
