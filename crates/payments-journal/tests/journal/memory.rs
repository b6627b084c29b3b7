use std::time::Duration;

use payments_journal::MemoryStore;

use crate::contract::{self, Place};

struct InMemory(MemoryStore);

impl Place for InMemory {
    type Store = MemoryStore;

    async fn open(&self) -> MemoryStore {
        self.0.another_owner()
    }

    async fn make_older(&self, by: Duration) {
        self.0.make_older(by);
    }
}

async fn place() -> InMemory {
    InMemory(MemoryStore::new())
}

contract::tests!(place);
