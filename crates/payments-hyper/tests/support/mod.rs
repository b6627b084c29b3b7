//! A server that does to its client exactly what a test says, on plain threads and plain sockets.
#![allow(dead_code, unused_imports, reason = "every test file uses another part of it")]

mod certificates;
#[path = "../../../../tests/connect_proxy.rs"]
#[allow(unreachable_pub, reason = "it is public in the crate that it belongs to")]
mod connect_proxy;
mod gate;
mod peer;
mod requests;
mod server;

pub(crate) use certificates::{Authority, Identity};
pub(crate) use connect_proxy::ConnectProxy;
pub(crate) use gate::gate;
pub(crate) use peer::{Peer, Received};
pub(crate) use requests::{CARD_NUMBER, KEY, Plan, post, send, send_failing};
pub(crate) use server::{Conversation, Server};
