use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use rusqlite::{Connection, OptionalExtension};
use tokio::sync::oneshot;

use crate::sqlite_store::place::Place;
use crate::sqlite_store::schema::Kept;
use crate::sqlite_store::{problem, schema};
use crate::{Cursor, Intent, IntentKey, Page, StateName, StoreError};

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

    pub(super) async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        let key = key.clone();
        self.ask(move |connection| connection.query_row(schema::FIND, [key.as_str()], Kept::read).optional())
            .await?
            .as_ref()
            .map(Kept::intent)
            .transpose()
    }

    pub(super) async fn list(
        &self,
        states: &[StateName],
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        if states.is_empty() {
            return Ok(Page { intents: Vec::new(), next: None });
        }
        let (sql, after) = (schema::list(states), after.map_or(i64::MIN, Cursor::position));
        // One more, to know whether it is the last page.
        let most = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        self.ask(move |connection| {
            let mut statement = connection.prepare(&sql)?;
            let rows = statement.query_map([after, most], Kept::read)?;
            let mut rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            let is_last = rows.len() <= limit;
            rows.truncate(limit);
            let next = rows.last().filter(|_| !is_last).map(|row| Cursor::new(row.position));
            let intents = rows.iter().map(Kept::intent).collect::<Result<_, _>>();
            Ok(intents.map(|intents| Page { intents, next }))
        })
        .await?
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let place = self.place.clone();
        let question: Question = Box::new(move |connection| {
            let answer = if place.is_displaced(connection) {
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
