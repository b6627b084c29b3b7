//! A server that runs a script against its client, with plain threads and sockets.

mod certificates;
#[path = "../../../../../tests/connect_proxy.rs"]
#[allow(unreachable_pub, reason = "public in the crate that it belongs to")]
mod connect_proxy;
mod gate;
mod peer;
mod requests;
mod server;

pub(crate) use certificates::{Authority, Identity};
pub(crate) use connect_proxy::ConnectProxy;
pub(crate) use gate::gate;
pub(crate) use peer::{Peer, Received};
pub(crate) use requests::{
    CARD_NUMBER, KEY, Plan, post, runtime, send, send_failing, settle, spawn, transport, until,
};
pub(crate) use server::{Conversation, Server};
