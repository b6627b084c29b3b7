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
    questions: mpsc::Sender<Question>,
    place: Arc<Place>,
}

enum Question {
    Find(IntentKey, oneshot::Sender<Result<Option<Intent>, StoreError>>),
    List {
        states: Vec<StateName>,
        after: i64,
        limit: usize,
        reply: oneshot::Sender<Result<Page, StoreError>>,
    },
    End,
}

impl Reader {
    /// The thread ends once it is told to, or when this is dropped.
    pub(super) fn start(
        connection: Connection,
        place: Arc<Place>,
    ) -> Result<(Self, JoinHandle<()>), StoreError> {
        let (questions, asked) = mpsc::channel();
        let there = place.clone();
        let thread = thread::Builder::new()
            .name("payments-journal-reader".to_owned())
            .spawn(move || answer_all(&connection, &there, &asked))
            .map_err(|error| problem::unavailable(place.path(), error))?;
        Ok((Self { questions, place }, thread))
    }

    /// Once what was asked before is answered.
    pub(super) fn end(&self) {
        // If it has ended already, so much the better.
        let _ = self.questions.send(Question::End);
    }

    pub(super) async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.ask(|reply| Question::Find(key.clone(), reply)).await
    }

    pub(super) async fn list(
        &self,
        states: &[StateName],
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let after = after.map_or(i64::MIN, Cursor::position);
        self.ask(|reply| Question::List { states: states.to_vec(), after, limit, reply }).await
    }

    async fn ask<T>(
        &self,
        question: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Question,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let gone = || problem::poisoned(self.place.path(), "the thread that reads it has ended");
        self.questions.send(question(reply)).map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

fn answer_all(connection: &Connection, place: &Place, asked: &mpsc::Receiver<Question>) {
    for question in asked {
        // Whoever asked may have gone away.
        match question {
            Question::Find(key, reply) => drop(reply.send(find(connection, place, &key))),
            Question::List { states, after, limit, reply } => {
                drop(reply.send(list(connection, place, &states, after, limit)));
            }
            Question::End => return,
        }
    }
}

fn find(connection: &Connection, place: &Place, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
    check(connection, place)?;
    let found = connection.query_row(schema::FIND, [key.as_str()], Kept::read).optional();
    let found = found.map_err(|error| problem::unreadable(place.path(), &error))?;
    found.as_ref().map(Kept::intent).transpose()
}

fn list(
    connection: &Connection,
    place: &Place,
    states: &[StateName],
    after: i64,
    limit: usize,
) -> Result<Page, StoreError> {
    check(connection, place)?;
    if states.is_empty() {
        return Ok(Page { intents: Vec::new(), next: None });
    }
    // One more, to know whether it is the last page.
    let most = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let rows = read_rows(connection, states, after, most);
    let mut rows = rows.map_err(|error| problem::unreadable(place.path(), &error))?;
    let is_last = rows.len() <= limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| !is_last).map(|row| Cursor::new(row.position));
    let intents = rows.iter().map(Kept::intent).collect::<Result<_, _>>()?;
    Ok(Page { intents, next })
}

fn read_rows(
    connection: &Connection,
    states: &[StateName],
    after: i64,
    most: i64,
) -> rusqlite::Result<Vec<Kept>> {
    let mut statement = connection.prepare(&schema::list(states))?;
    let rows = statement.query_map([after, most], Kept::read)?;
    rows.collect()
}

fn check(connection: &Connection, place: &Place) -> Result<(), StoreError> {
    if place.is_displaced(connection) {
        return Err(problem::poisoned(place.path(), problem::DISPLACED));
    }
    Ok(())
}
