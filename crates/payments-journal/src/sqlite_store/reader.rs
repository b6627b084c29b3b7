use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::StoreError;
use crate::sqlite_store::place::Place;
use crate::sqlite_store::problem;

/// A thread that reads what is committed, beside the writer's.
pub(super) struct Reader {
    /// `None` to end.
    questions: mpsc::Sender<Option<Question>>,
    place: Arc<Place>,
}

type Question = Box<dyn FnOnce(&Connection) + Send>;

impl Reader {
    /// The thread ends once it is told to, or when this is dropped.
    pub(super) fn start(
        connection: Connection,
        place: Arc<Place>,
    ) -> Result<(Self, JoinHandle<()>), StoreError> {
        let (questions, asked) = mpsc::channel::<Option<Question>>();
        let thread = thread::Builder::new()
            .name("payments-journal-reader".to_owned())
            .spawn(move || asked.iter().map_while(|question| question).for_each(|ask| ask(&connection)))
            .map_err(|error| problem::unavailable(place.path(), error))?;
        Ok((Self { questions, place }, thread))
    }

    /// Once what was asked before is answered.
    pub(super) fn end(&self) {
        // If it has ended already, so much the better.
        let _ = self.questions.send(None);
    }

    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let place = self.place.clone();
        let question: Question = Box::new(move |connection| {
            let answer = if place.is_displaced() {
                Err(problem::poisoned(place.path(), problem::DISPLACED))
            } else {
                question(connection).map_err(|error| problem::unreadable(place.path(), &error))
            };
            // Whoever asked may have gone away.
            let _ = reply.send(answer);
        });
        let gone = || problem::poisoned(self.place.path(), "the thread that reads it has ended");
        self.questions.send(Some(question)).map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}
