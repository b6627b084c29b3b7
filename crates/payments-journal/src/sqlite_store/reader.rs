use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use futures_channel::oneshot;
use rusqlite::Connection;

use crate::StoreError;
use crate::sqlite_store::place::Place;
use crate::sqlite_store::problem;

/// A thread that reads committed rows, separate from the writer.
pub(super) struct Reader {
    /// `None` ends the thread.
    queries: mpsc::Sender<Option<Query>>,
    place: Arc<Place>,
}

type Query = Box<dyn FnOnce(&Connection) + Send>;

impl Reader {
    /// The thread ends after [`end`](Self::end), or when this is dropped.
    pub(super) fn start(
        connection: Connection,
        place: Arc<Place>,
    ) -> Result<(Self, JoinHandle<()>), StoreError> {
        let (queries, received) = mpsc::channel::<Option<Query>>();
        let thread = thread::Builder::new()
            .name("payments-journal-reader".to_owned())
            .spawn(move || received.iter().map_while(|query| query).for_each(|query| query(&connection)))
            .map_err(|error| problem::unavailable(place.path(), error))?;
        Ok((Self { queries, place }, thread))
    }

    /// Ends the thread after the queries before this.
    pub(super) fn end(&self) {
        // Fails only if the thread has already ended.
        let _ = self.queries.send(None);
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = oneshot::channel();
        let place = self.place.clone();
        let query: Query = Box::new(move |connection| {
            let result = if place.is_displaced() {
                Err(problem::poisoned(place.path(), problem::DISPLACED))
            } else {
                query(connection).map_err(|error| problem::unreadable(place.path(), &error))
            };
            // Fails only if the caller has left.
            let _ = sender.send(result);
        });
        let gone =
            || problem::poisoned(self.place.path(), "it was closed, or its reader thread has panicked");
        self.queries.send(Some(query)).map_err(|_| gone())?;
        receiver.await.unwrap_or_else(|_| Err(gone()))
    }
}
