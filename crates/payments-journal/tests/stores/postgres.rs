use payments_journal::PostgresStore;
use payments_postgres_for_tests::Server;

use crate::contract::{self, Place};

/// A server of the test's own.
struct InPostgres(Server);

impl Place for InPostgres {
    type Store = PostgresStore;

    async fn open(&self) -> PostgresStore {
        PostgresStore::connect(&self.0.url()).await.unwrap()
    }
}

async fn place() -> Option<InPostgres> {
    Server::start().map(InPostgres)
}

contract::tests!(if place);
