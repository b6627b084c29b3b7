//! What nearly every module of these tests uses.

pub(crate) use http::StatusCode;
pub(crate) use payments_core::OperationName;
pub(crate) use payments_fake::{Fault, block_on};
pub(crate) use serde_json::{Value, json};

pub(crate) use crate::cases::every_command;
pub(crate) use crate::support::*;
pub(crate) use crate::workspace::{BILLING, TOKENS, Workspace};
