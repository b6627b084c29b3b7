//! payments-sandbox
