//! The client that is tested.

use payments_core::{Client, ClientBuilder, Timer, Transport};
use payments_fake::FakeGateway;
pub(crate) use payments_journal::{Journal, JournaledClient, Store};

pub(crate) fn client_of(gateway: &FakeGateway) -> Client {
    gateway.client()
}

pub(crate) fn build<T: Transport, C: Timer>(builder: ClientBuilder<T, C>) -> Client {
    builder.build()
}
