//! One call: it writes the intent, sends the request, and writes the outcome.

use std::panic::AssertUnwindSafe;
use std::time::SystemTime;

use futures_util::FutureExt as _;
use payments_core::{CallId, Client, Operation, Outcome, Success};
use payments_model::{TokenId, TransactionId};

use crate::error::Cause;
use crate::journal::Begun;
use crate::resolving::Refusal;
use crate::{
    Applied, AttemptId, Begin, Change, Ending, Error, Failure, FailureKind, Intent, IntentKey, IntentRequest,
    IntentState, Journal, NewAttempt, StoreError, events,
};

pub(crate) type CallResult<T> = Result<Journaled<T>, Error>;

/// A call with a key, through either client.
pub(crate) struct Call {
    client: Client,
    journal: Journal,
    key: IntentKey,
    /// Shown in place of a key that contains a secret.
    redacted_key: Option<IntentKey>,
}

impl Call {
    pub(crate) fn new<P: MovesMoney>(
        client: &Client,
        journal: &Journal,
        key: &IntentKey,
        payment: &P,
    ) -> Self {
        let (client, journal, key) = (client.clone(), journal.clone(), key.clone());
        // Whatever stands between the digits of its card or account. A security code occurs in many harmless keys by chance.
        let has_secret = client.is_secret_in(key.as_str(), payment);
        Self { client, journal, key, redacted_key: has_secret.then(IntentKey::redacted) }
    }

    pub(crate) fn failed(&self, cause: Cause) -> Error {
        Error::new(self.shown_key().clone(), cause)
    }

    pub(crate) async fn attempt<P: MovesMoney>(
        &self,
        payment: &P,
        begin: Begin,
        has_caller: impl Fn() -> bool,
    ) -> CallResult<P::Data> {
        let Self { client, journal, key, .. } = self;
        let mut request = IntentRequest::from(payment);
        // A reference filled from the wrong field can be the API key.
        request.reference.take_if(|reference| client.is_secret_in(reference, payment));
        let (service, owner) = (client.service().to_owned(), journal.store().owner().clone());
        let new = NewAttempt { begin, service, request, attempt_id: AttemptId::new(), owner };
        let facts = payment.facts();
        let stored_id =
            facts.token_id.map(TokenId::as_str).or_else(|| facts.transaction_id.map(TransactionId::as_str));
        if self.redacted_key.is_some() || stored_id.is_some_and(|id| client.is_secret_in(id, payment)) {
            return self.refused(new).await;
        }
        // As long as nothing is sent, the attempt ends as withdrawn.
        let ending = Ending::withdrawn();
        let attempt_id = new.attempt_id.clone();
        let mut end = PendingEnd { journal, key, attempt_id, row: None, ending, is_open: true };
        let found = journal.begin(key, &new).await;
        // Otherwise the row belongs to another attempt, or there is none.
        end.is_open = matches!(found, Ok(Begun::Written(_)));
        match found? {
            Begun::Written(row) => end.row = Some(row),
            Begun::Refused(why, found) => return answer_of(why, found, new.service),
        }
        if !has_caller() {
            events::caller_left_before_send(key);
            end.ending = Ending::NotProcessed(Failure::of_kind(FailureKind::ABANDONED));
            // No caller receives this error.
            let (.., write_error) = end.write().await;
            return Err(self.failed(write_error.map_or(Cause::Lost, Cause::Store)));
        }
        end.ending = Ending::Unknown(Failure::of_kind(FailureKind::LOST));
        let result = AssertUnwindSafe(client.call(payment)).catch_unwind().await;
        end.ending = match &result {
            Ok(Ok(response)) => Ending::Processed(processed_as::<P>(response)),
            Ok(Err(error)) => match error.outcome() {
                Outcome::NotProcessed => Ending::NotProcessed(error.into()),
                Outcome::Rejected => Ending::Rejected(error.into()),
                Outcome::Unknown => Ending::Unknown(error.into()),
            },
            // Even then the request may have been sent.
            Err(_) => Ending::Unknown(Failure::of_kind(FailureKind::PANIC)),
        };
        let (row, same_transaction_as, write_error) = end.write().await;
        match (result, row) {
            (Ok(Ok(response)), row) => {
                let transaction_id = processed_as::<P>(&response);
                let (response, second_charge) = (Some(response), row.and_then(second_charge));
                Ok(Journaled { transaction_id, response, write_error, same_transaction_as, second_charge })
            }
            // This call moved no money, but another attempt may have: one that ended late, or that a person was wrong about.
            (Ok(Err(error)), Some(row)) if error.outcome() != Outcome::Unknown && !row.moved_nothing() => {
                answer_of(new.refused_by(&row), row, new.service).map_err(|answer| answer.after(error))
            }
            (Ok(Err(error)), _) => Err(Error::unrecorded(key.clone(), Cause::Call(error), write_error)),
            (Err(_), _) => Err(Error::unrecorded(key.clone(), Cause::Panicked("the transport"), write_error)),
        }
    }

    /// What errors, spans and events show of the key.
    pub(crate) fn shown_key(&self) -> &IntentKey {
        self.redacted_key.as_ref().unwrap_or(&self.key)
    }

    /// The answer to a call whose key, token or id contains a secret. Nothing of it is written, but an earlier call may have paid.
    async fn refused<T>(&self, new: NewAttempt) -> CallResult<T> {
        let has_secret_key = self.redacted_key.is_some();
        match self.journal.may_be_paid(&self.key, has_secret_key).await {
            Ok(None) => Err(self.failed(Cause::SecretInKey)),
            // The row contains the key.
            Ok(Some(_)) if has_secret_key => Err(self.failed(Cause::SecretInKey).of_a_key_that_may_be_paid()),
            Ok(Some(row)) => answer_of(new.refused_by(&row), row, new.service),
            Err(error) => {
                let is_shown = has_secret_key && format!("{error:#} {error:?}").contains(self.key.as_str());
                Err(self.failed(Cause::Store(if is_shown { error.without_text() } else { error })))
            }
        }
    }
}

/// The answer of this row to a call of this service that moved no money.
fn answer_of<T>(why: Refusal, found: Intent, called: String) -> CallResult<T> {
    let (key, transaction_id) = (found.key.clone(), found.processed_as().cloned());
    let is_sending = found.state == IntentState::Sending;
    let cause = match (why, transaction_id) {
        (Refusal::OtherService, _) => {
            let (moved_nothing, recorded) = (found.moved_nothing(), found.service);
            Cause::OtherService { recorded, called, moved_nothing }
        }
        (Refusal::AnotherRequest(differences), _) if is_sending => {
            Cause::InProgress { intent: found, differences }
        }
        (Refusal::AnotherRequest(differences), _) => Cause::KeyReused { intent: found, differences },
        (_, None) if is_sending => Cause::InProgress { intent: found, differences: Vec::new() },
        (_, None) => Cause::Recorded(found),
        (_, Some(transaction_id)) => {
            return Ok(Journaled {
                transaction_id,
                response: None,
                write_error: None,
                same_transaction_as: None,
                second_charge: second_charge(found),
            });
        }
    };
    Err(Error::new(key, cause))
}

/// A payment or void that was processed: by this call, or by an earlier one with the same key.
///
/// ```
/// use payments_core::model::TransactionRecord;
/// use payments_journal::Journaled;
///
/// fn log(charged: &Journaled<TransactionRecord>) {
///     println!("paid as {}", charged.transaction_id);
///     // `None` from an earlier call, of which the journal has only the id.
///     if let Some(response) = &charged.response {
///         println!("{} {:?}", response.http_status(), response.call_id());
///         println!("{:?}", response.amount.value()); // a field of the record
///     }
///     // It is paid in any case: these are for a person, who needs the id.
///     if let Some(error) = &charged.write_error {
///         println!("not recorded: {error}");
///     }
///     if let Some(other) = &charged.same_transaction_as {
///         println!("{other} has the same transaction");
///     }
///     if let Some(intent) = &charged.second_charge {
///         println!("{} may have been charged twice", intent.key);
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Journaled<T> {
    /// The transaction. For a void, the one that the response names.
    pub transaction_id: TransactionId,
    /// The service's response, if this call was processed. `None` if another attempt with the key was, or if a person resolved
    /// the key: then this call moved no money, and the journal has only the id. As a rule it sent nothing. It may have been sent
    /// and refused if the other attempt ended meanwhile, for example because a person was wrong about that one.
    pub response: Option<Success<T>>,
    /// Why the outcome could not be written, if it could not: the payment **was** processed, and its key stays unresolved. The
    /// journal tries again in the background, and before it begins anything new in this process. If that fails too, a later
    /// call with the same key sends nothing and reports an unknown outcome, until a person
    /// [resolves](crate::Journal::resolve) it with this transaction's id. Keep the id.
    pub write_error: Option<StoreError>,
    /// Another intent that is already processed as this same transaction: a payment if this is a payment, a void if this is a
    /// void. The charge was processed and is recorded like any other. But the service has returned one id for two charges, or
    /// a person has resolved the other intent with the wrong id: let a person compare both with the service before you trust
    /// either.
    ///
    /// It is found when this call writes the outcome. It is `None` if the outcome is written later (see
    /// [`write_error`](Self::write_error)).
    pub same_transaction_as: Option<IntentKey>,
    /// The intent, if several attempts with its key may have been charged: see [`Intent::second_charges`]. For example, this call
    /// was considered dead, a person resolved its attempt as not processed, the key was sent again, and only then the response to
    /// this call arrived. A person must compare the transactions with the service. The key is never sent again.
    ///
    /// Like `same_transaction_as`, it is found when this call writes the outcome.
    pub second_charge: Option<Box<Intent>>,
}

impl<T> Journaled<T> {
    /// The id of the client's call, as in its log and its [`Success`]. `None` if this call moved no money.
    pub fn call_id(&self) -> Option<CallId> {
        self.response.as_ref()?.call_id()
    }

    /// Whether another attempt with the key was processed, and not this call. See [`response`](Self::response).
    pub fn is_from_the_journal(&self) -> bool {
        self.response.is_none()
    }
}

fn second_charge(intent: Intent) -> Option<Box<Intent>> {
    let is_possible = intent.second_charges().next().is_some();
    is_possible.then(|| intent.into())
}

/// The end of an attempt, still to be written. If the task is dropped with its runtime, the journal writes it later.
struct PendingEnd<'a> {
    journal: &'a Journal,
    key: &'a IntentKey,
    attempt_id: AttemptId,
    /// Its row, if the attempt has begun.
    row: Option<Intent>,
    ending: Ending,
    is_open: bool,
}

impl PendingEnd<'_> {
    fn change(&self) -> Change {
        let (ending, now) = (self.ending.clone(), SystemTime::now());
        match self.row.clone() {
            Some(row) => Change::end_of(row, ending, now),
            None => Change::end(self.key.clone(), self.attempt_id.clone(), ending, now),
        }
    }

    /// Returns the row, another intent with the same transaction, and why this end is not in the row.
    async fn write(&mut self) -> (Option<Intent>, Option<IntentKey>, Option<StoreError>) {
        let applied = self.journal.end(self.change()).await;
        self.is_open = false;
        self.log();
        let (found, error) = match applied {
            Ok(Applied::Written { row, same_transaction_as }) => {
                return (Some(row), same_transaction_as, None);
            }
            Ok(Applied::Refused(_, found)) => (found, StoreError::changed_meanwhile()),
            Err(error) => (None, error),
        };
        events::not_recorded(self.key, &self.ending, &error);
        (found, None, Some(error))
    }

    fn log(&self) {
        if let Ending::Unknown(failure) = &self.ending {
            events::unknown(self.key, failure);
        }
    }
}

impl Drop for PendingEnd<'_> {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        self.log();
        let change = self.change();
        if change.is_final_outcome() && !matches!(self.ending, Ending::Unknown(_)) {
            let error = StoreError::in_doubt("the call was ended while its outcome was being written");
            events::not_recorded(self.key, &self.ending, &error);
        }
        self.journal.end_later(change);
    }
}

/// A request that moves money: a card or ACH payment, a token payment, or a void.
pub trait MovesMoney:
    Operation<Error = payments_core::Error, Data: Send + 'static> + Clone + Send + Sync + 'static
{
}

impl<O> MovesMoney for O where
    O: Operation<Error = payments_core::Error, Data: Send + 'static> + Clone + Send + Sync + 'static
{
}

fn processed_as<P: MovesMoney>(response: &Success<P::Data>) -> TransactionId {
    response.transaction().expect("every payment and void names its transaction").clone()
}
