//! payments-hyper
