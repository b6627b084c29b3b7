//! One attempt to send one intent: written down, sent, and written down how it ended.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use payments_core::{Client, Operation, Outcome, Success, VoidReceipt};
use payments_model::{
    AchTransaction, CardTransaction, TokenTransaction, TransactionId, TransactionReceipt, TransactionRecord,
    Void,
};
use tokio::sync::watch;

use crate::journal::Begun;
use crate::row::now;
use crate::{
    AttemptId, Change, Ending, Error, Failure, Intent, IntentKey, IntentRequest, IntentState, Journal,
    Journaled, StoreError, events,
};

/// Counts an attempt for as long as it is under way, also if its task is thrown away.
pub(crate) struct UnderWay(watch::Sender<usize>);

impl UnderWay {
    pub(crate) fn begin(counter: &watch::Sender<usize>) -> Self {
        counter.send_modify(|count| *count += 1);
        Self(counter.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// One attempt to send one intent, which outlives its caller.
pub(crate) struct Attempt<P> {
    pub(crate) client: Client,
    pub(crate) journal: Journal,
    pub(crate) key: IntentKey,
    pub(crate) id: AttemptId,
    pub(crate) payment: P,
    pub(crate) is_after_rejection: bool,
}

impl<P: Payment> Attempt<P> {
    pub(crate) async fn make(self, is_awaited: impl Fn() -> bool) -> Result<Journaled<P::Data>, Error> {
        let Self { client, journal, key, id, payment, is_after_rejection } = self;
        let mut request = payment.intent_request();
        // A reference that came out of the wrong field.
        request.reference.take_if(|reference| client.is_api_key_in(reference));
        let mut end = End::unless_begun(&journal, &key, &id);
        match journal.begin(&key, request, &id, is_after_rejection).await {
            Ok(Begun::Sending) => {}
            Ok(Begun::Kept(intent)) => {
                end.is_none_of_ours();
                return from_the_journal(*intent, &payment);
            }
            Ok(Begun::Missing) => {
                end.is_none_of_ours();
                return Err(Error::no_such_intent(key.clone()));
            }
            Err(error) => {
                end.is_none_of_ours();
                return Err(Error::store(key.clone(), error));
            }
        }
        if !is_awaited() {
            events::left_before_it_was_sent(&key);
            end.ending = Ending::NotProcessed(Failure::of_kind(Failure::ABANDONED));
            let written = end.write().await;
            return Err(
                written.map_or_else(|error| Error::store(key.clone(), error), |_| Error::lost(key.clone()))
            );
        }
        end.ending = Ending::Unknown(Failure::of_kind(Failure::LOST));
        let result = contained(client.call(&payment)).await;
        end.ending = ending::<P>(result.as_ref());
        let (same_transaction_as, not_recorded) = match end.write().await {
            Ok(other) => (other, None),
            Err(error) => (None, Some(error)),
        };
        match result {
            Some(Ok(answer)) => Ok(Journaled {
                transaction_id: P::processed_as(&answer).clone(),
                answer: Some(answer),
                not_recorded,
                same_transaction_as,
            }),
            Some(Err(error)) => Err(Error::of_call(key.clone(), error, not_recorded)),
            None => Err(Error::panicked(key.clone(), not_recorded)),
        }
    }
}

/// What is to be written down of an attempt, which is not forgotten if its task is thrown away with its runtime.
struct End<'a> {
    journal: &'a Journal,
    key: &'a IntentKey,
    attempt: &'a AttemptId,
    ending: Ending,
    is_open: bool,
}

impl<'a> End<'a> {
    /// For as long as nothing was sent.
    fn unless_begun(journal: &'a Journal, key: &'a IntentKey, attempt: &'a AttemptId) -> Self {
        Self { journal, key, attempt, ending: Ending::withdrawn(), is_open: true }
    }

    fn change(&self) -> Change {
        Change::end(self.key.clone(), self.attempt.clone(), self.ending.clone(), now())
    }

    /// The row is another attempt's, or there is none.
    fn is_none_of_ours(&mut self) {
        self.is_open = false;
    }

    /// Writes it. Returns another intent that is processed as the same transaction.
    async fn write(&mut self) -> Result<Option<IntentKey>, StoreError> {
        let written = self.journal.end(self.change()).await;
        self.is_open = false;
        self.tell();
        if let Err(error) = &written {
            events::not_recorded(self.key, &self.ending, error);
        }
        written
    }

    fn tell(&self) {
        if let Ending::Unknown(failure) = &self.ending {
            events::unknown(self.key, failure);
        }
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.tell();
            self.journal.end_later(self.change());
        }
    }
}

/// How to write it down.
fn ending<P: Payment>(result: Option<&Result<Success<P::Data>, payments_core::Error>>) -> Ending {
    match result {
        Some(Ok(answer)) => Ending::Processed(P::processed_as(answer).clone()),
        Some(Err(error)) => match error.outcome() {
            Outcome::NotProcessed => Ending::NotProcessed(error.into()),
            Outcome::Rejected => Ending::Rejected(error.into()),
            Outcome::Unknown => Ending::Unknown(error.into()),
        },
        None => Ending::Unknown(Failure::of_kind(Failure::PANIC)),
    }
}

/// What a row that keeps a call from being sent says to it.
fn from_the_journal<P: Payment>(intent: Intent, payment: &P) -> Result<Journaled<P::Data>, Error> {
    let differences = intent.request.differences(&payment.intent_request());
    if !differences.is_empty() {
        return Err(Error::key_reused(intent, differences));
    }
    if let Some(transaction_id) = intent.processed_as().cloned() {
        return Ok(Journaled { transaction_id, answer: None, not_recorded: None, same_transaction_as: None });
    }
    Err(if intent.state == IntentState::Sending {
        Error::in_progress(intent)
    } else {
        Error::recorded(intent)
    })
}

/// `None` if the future panics: even then it must be written down that the request may have been sent.
async fn contained<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    })
    .await
}

/// A request that moves money, as the journal sees it.
pub(crate) trait Payment:
    Operation<Error = payments_core::Error, Data: Send + 'static> + Clone + Send + Sync + 'static
{
    /// What may be kept of it.
    fn intent_request(&self) -> IntentRequest;

    /// Card or account data, which no key may hold.
    fn card_data(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The token or id that is kept of it.
    fn kept_id(&self) -> Option<&str> {
        None
    }

    /// The transaction that the response names.
    fn processed_as(data: &Self::Data) -> &TransactionId;
}

impl Payment for CardTransaction {
    fn intent_request(&self) -> IntentRequest {
        self.into()
    }

    fn card_data(&self) -> Vec<&str> {
        self.secrets()
    }

    fn processed_as(data: &TransactionRecord) -> &TransactionId {
        &data.transaction_id
    }
}

impl Payment for AchTransaction {
    fn intent_request(&self) -> IntentRequest {
        self.into()
    }

    fn card_data(&self) -> Vec<&str> {
        self.secrets()
    }

    fn processed_as(data: &TransactionRecord) -> &TransactionId {
        &data.transaction_id
    }
}

impl Payment for TokenTransaction {
    fn intent_request(&self) -> IntentRequest {
        self.into()
    }

    fn kept_id(&self) -> Option<&str> {
        Some(self.token_id().as_str())
    }

    fn processed_as(data: &TransactionReceipt) -> &TransactionId {
        &data.transaction_id
    }
}

impl Payment for Void {
    fn intent_request(&self) -> IntentRequest {
        self.into()
    }

    fn kept_id(&self) -> Option<&str> {
        Some(self.transaction_id().as_str())
    }

    fn processed_as(data: &VoidReceipt) -> &TransactionId {
        &data.receipt.transaction_id
    }
}
