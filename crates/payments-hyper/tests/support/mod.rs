//! A server that does to its client exactly what a test says, on plain threads and plain sockets.
#![allow(dead_code, unused_imports, reason = "every test file uses another part of it")]

mod certificates;
mod gate;
mod peer;
mod requests;
mod server;

pub(crate) use certificates::{Authority, Identity};
pub(crate) use gate::gate;
pub(crate) use peer::{Peer, Received};
pub(crate) use requests::{CARD_NUMBER, KEY, Plan, post, send, send_failing};
pub(crate) use server::{Conversation, Server};
