//! The blocking client as the asynchronous one, so that the same tests use it. Each call blocks a thread of its own.

#![allow(clippy::unused_async, reason = "as the asynchronous client")]

use std::time::Duration;
use std::vec;

use payments_core::blocking::{Client, Timer, Transport};
use payments_core::model::{
    AchTransaction, CardTransaction, TokenTransaction, TransactionReceipt, TransactionRecord, Void,
};
use payments_core::{ApiKey, ClientBuilder, VoidReceipt};
use payments_fake::FakeGateway;
pub(crate) use payments_journal::blocking::Store;
use payments_journal::{
    Error, Intent, IntentKey, Journaled, Purged, Reopened, Resolution, ResolveError, SentSince, ServiceError,
    ServiceIntents, StateName, StoreError, blocking,
};
use tokio::task::spawn_blocking;

pub(crate) fn client_of(gateway: &FakeGateway) -> Client {
    gateway.blocking_client()
}

pub(crate) fn build<T: Transport, C: Timer>(builder: ClientBuilder<T, C>) -> Client {
    builder.build_blocking()
}

#[derive(Clone, Debug)]
pub(crate) struct Journal(blocking::Journal);

impl Journal {
    pub(crate) const YOUNGEST_TO_PURGE: Duration = payments_journal::Journal::YOUNGEST_TO_PURGE;

    pub(crate) async fn open(store: impl Store) -> Result<Self, StoreError> {
        blocking::Journal::open(store).map(Self)
    }

    pub(crate) async fn close(&self) {
        self.0.close();
    }

    pub(crate) fn pages(&self, states: &[StateName]) -> Pages {
        Pages(self.0.pages(states).collect::<Vec<_>>().into_iter())
    }
}

pub(crate) struct Pages(vec::IntoIter<Result<Vec<Intent>, StoreError>>);

impl Pages {
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Intent>>, StoreError> {
        self.0.next().transpose()
    }
}

macro_rules! journal {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Journal {$(
            pub(crate) async fn $name(&self, $($argument: $type),*) -> $result {
                self.0.$name($($argument),*)
            }
        )*}
    };
}

journal! {
    find(key: &IntentKey) -> Result<Option<Intent>, StoreError>;
    resolve(read: &Intent, resolution: Resolution) -> Result<Intent, ResolveError>;
    resolve_of_service(read: &Intent, resolution: Resolution, service: &str) -> Result<Intent, ResolveError>;
    reopen(key: &IntentKey, http_statuses: &[u16], by: &str, note: Option<&str>) -> Result<Reopened, StoreError>;
    check_history() -> Result<(), StoreError>;
    accept_history(lost: SentSince<'_>, by: &str) -> Result<u64, StoreError>;
    purge_older_than(age: Duration) -> Result<Purged, StoreError>;
    flush() -> Result<(), StoreError>;
    intents_of_service(service: &str) -> Result<ServiceIntents, ServiceError>;
    rename_service(read: &ServiceIntents, to: &str, by: &str) -> Result<(), ServiceError>;
}

#[derive(Clone, Debug)]
pub(crate) struct JournaledClient {
    client: blocking::JournaledClient,
    journal: Journal,
}

impl JournaledClient {
    pub(crate) fn new(client: Client, journal: Journal) -> Self {
        Self { client: blocking::JournaledClient::new(client, journal.0.clone()), journal }
    }

    pub(crate) const fn journal(&self) -> &Journal {
        &self.journal
    }

    pub(crate) fn for_merchant(&self, label: &str, key: ApiKey) -> Result<Self, payments_core::Error> {
        Ok(Self { client: self.client.for_merchant(label, key)?, ..self.clone() })
    }

    pub(crate) fn with_total_timeout(&self, total: Duration) -> Self {
        Self { client: self.client.with_total_timeout(total), ..self.clone() }
    }

    pub(crate) fn with_lookup_retries(&self, retries: u32) -> Self {
        Self { client: self.client.with_lookup_retries(retries), ..self.clone() }
    }

    pub(crate) fn with_api_key(&self, key: ApiKey) -> Self {
        Self { client: self.client.with_api_key(key), ..self.clone() }
    }

    pub(crate) fn after_rejection(&self, key: &IntentKey) -> AfterRejection {
        AfterRejection { client: self.client.clone(), key: key.clone() }
    }

    pub(crate) async fn look_up_and_resolve(
        &self,
        read: &Intent,
        resolution: Resolution,
    ) -> Result<(Intent, TransactionRecord), ResolveError> {
        let (client, read) = (self.client.clone(), read.clone());
        spawn_blocking(move || client.look_up_and_resolve(&read, resolution)).await.unwrap()
    }
}

macro_rules! calls {
    ($($name:ident($request:ty) -> $data:ty;)*) => {
        impl JournaledClient {$(
            pub(crate) async fn $name(
                &self,
                key: &IntentKey,
                request: &$request,
            ) -> Result<Journaled<$data>, Error> {
                let (client, key, request) = (self.client.clone(), key.clone(), request.clone());
                spawn_blocking(move || client.$name(&key, &request)).await.unwrap()
            }
        )*}
    };
}

calls! {
    process_card(CardTransaction) -> TransactionRecord;
    process_ach(AchTransaction) -> TransactionRecord;
    process_token(TokenTransaction) -> TransactionReceipt;
    void(Void) -> VoidReceipt;
}

pub(crate) struct AfterRejection {
    client: blocking::JournaledClient,
    key: IntentKey,
}

impl AfterRejection {
    pub(crate) async fn process_token(
        self,
        payment: &TokenTransaction,
    ) -> Result<Journaled<TransactionReceipt>, Error> {
        let payment = payment.clone();
        spawn_blocking(move || self.client.after_rejection(&self.key).process_token(&payment)).await.unwrap()
    }
}
