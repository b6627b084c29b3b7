use std::error::Error as _;
use std::fmt::Write as _;
use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity};

use crate::StoreError;

/// Why a statement did not come to its end.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server itself reports that it has undone the statement.
    Undone(Box<DbError>),
    /// Nobody has heard how it ended, or the server went away while it said so.
    Unheard(String),
    /// It ended, and what it has read are not the columns of this journal.
    Unreadable(String),
}

/// Waits for a statement, but not forever.
pub(super) async fn ask<T>(statement: impl Future<Output = Result<T, Error>>) -> Result<T, Fault> {
    match timeout(LONGEST_WAIT, statement).await {
        Ok(answer) => answer.map_err(Fault::from),
        Err(_) => Err(Fault::Unheard(format!("no answer within {} s", LONGEST_WAIT.as_secs()))),
    }
}

/// More than the server's `statement_timeout`.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(10);

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error.as_db_error() {
            // Only this severity is a statement's end. A server that shuts down says FATAL to whoever is connected, at any
            // moment: also between the commit and its answer.
            Some(told) if told.parsed_severity() == Some(Severity::Error) => {
                Self::Undone(Box::new(told.clone()))
            }
            _ => Self::Unheard(in_one_line(&error)),
        }
    }
}

impl Fault {
    pub(super) fn is_undone(&self) -> bool {
        matches!(self, Self::Undone(_))
    }

    /// Of a statement that changes nothing.
    pub(super) fn of_reading(self) -> StoreError {
        match self {
            Self::Unreadable(why) => {
                StoreError::damaged("the table payments_journal.intents has other columns").because(why)
            }
            Self::Undone(told) => refusal(&told),
            Self::Unheard(why) => {
                StoreError::unavailable("the connection to the journal's database was lost").because(why)
            }
        }
    }

    /// Of a statement that changes something.
    pub(super) fn of_writing(self) -> StoreError {
        match self {
            Self::Undone(told) => refusal(&told),
            Self::Unheard(why) => StoreError::in_doubt(
                "the connection to the journal's database was lost before it said whether it has kept the change",
            )
            .because(why),
            Self::Unreadable(_) => self.of_reading(),
        }
    }
}

/// An error of connecting to this place.
pub(super) fn of_connecting(error: &Error, place: &str) -> StoreError {
    let told = match error.code() {
        Some(code) if is_lasting(code.code()) => {
            StoreError::refused(format!("the journal's database {place} does not let this user in"))
        }
        _ => unreachable(place),
    };
    told.because(in_one_line(error))
}

pub(super) fn unreachable(place: &str) -> StoreError {
    StoreError::unavailable(format!("the journal's database {place} cannot be reached"))
}

fn refusal(told: &DbError) -> StoreError {
    let why = in_words(told);
    if is_lasting(told.code().code()) {
        StoreError::refused("the journal's database refuses the statement").because(why)
    } else {
        StoreError::unavailable("the journal's database could not do it").because(why)
    }
}

/// Whether waiting cannot help: data, credentials, names and permissions, by the class of the SQLSTATE.
fn is_lasting(code: &str) -> bool {
    ["22", "23", "28", "3D", "3F", "42"].iter().any(|class| code.starts_with(class))
}

/// The error and its causes: the library's own `Display` stops at "db error".
fn in_one_line(error: &Error) -> String {
    if let Some(told) = error.as_db_error() {
        return in_words(told);
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

fn in_words(told: &DbError) -> String {
    format!("{} {}: {}", told.severity(), told.code().code(), told.message())
}
