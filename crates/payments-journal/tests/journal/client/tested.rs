//! The asynchronous client. Tests that name it through `super` also run with the blocking one.

use payments_core::{Client, ClientBuilder, Timer, Transport};
use payments_fake::FakeGateway;
pub(crate) use payments_journal::{Journal, JournaledClient, Store};

pub(crate) fn client_of(gateway: &FakeGateway) -> Client {
    gateway.client()
}

pub(crate) fn build<T: Transport, C: Timer>(builder: ClientBuilder<T, C>) -> Client {
    builder.build()
}
