//! One call: written down, sent, and written down how it ended.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::SystemTime;

use payments_core::{Operation, Outcome, VoidReceipt};
use payments_model::{
    AchTransaction, CardTransaction, TokenTransaction, TransactionId, TransactionReceipt, TransactionRecord,
    Void,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::client::Called;
use crate::error::Cause;
use crate::{
    AttemptId, Change, Ending, Error, Failure, IntentKey, IntentRequest, Journal, Journaled, JournaledClient,
    StoreError, events,
};

impl JournaledClient {
    /// Makes one call in a task that outlives its caller.
    pub(crate) async fn call<P: Payment>(
        &self,
        key: &IntentKey,
        payment: &P,
        is_after_rejection: bool,
    ) -> Called<P::Data>
    where
        for<'a> IntentRequest: From<&'a P>,
    {
        let failed = |cause| Err(Error::new(key.clone(), cause));
        let is_api_key_in = |text: &str| self.client.is_api_key_in(text);
        let is_in_key = |secret: &&str| secret.len() >= SHORTEST_SECRET && key.as_str().contains(*secret);
        if is_api_key_in(key.as_str())
            || payment.kept_id().is_some_and(is_api_key_in)
            || payment.card_data().iter().any(is_in_key)
        {
            return failed(Cause::SecretInKey);
        }
        let Ok(runtime) = Handle::try_current() else { return failed(Cause::NoRuntime) };
        let mut request = IntentRequest::from(payment);
        // A reference that came out of the wrong field.
        request.reference.take_if(|reference| is_api_key_in(reference));
        let (tell, told) = oneshot::channel();
        let (this, under_way, payment) = (self.clone(), self.under_way.subscribe(), payment.clone());
        let task = {
            let key = key.clone();
            async move {
                let is_awaited = || !tell.is_closed();
                let result = this.attempt(&key, &payment, &request, is_after_rejection, is_awaited).await;
                // Who does not listen any more finds it in the journal.
                if let Err(Ok(unheard)) = tell.send(result) {
                    events::processed_unheard(&key, &unheard.transaction_id);
                }
                drop(under_way);
            }
        };
        runtime.spawn(events::in_span(key, task));
        told.await.unwrap_or_else(|_| failed(Cause::Lost))
    }

    async fn attempt<P: Payment>(
        &self,
        key: &IntentKey,
        payment: &P,
        request: &IntentRequest,
        is_after_rejection: bool,
        is_awaited: impl Fn() -> bool,
    ) -> Called<P::Data> {
        let failed = |cause| Error::new(key.clone(), cause);
        // For as long as nothing was sent.
        let ending = Ending::withdrawn();
        let mut end = End { journal: &self.journal, key, attempt: AttemptId::new(), ending, is_open: true };
        let begun = self.journal.begin(key, request, &end.attempt, is_after_rejection).await;
        // Otherwise the row is another attempt's, or there is none.
        end.is_open = matches!(begun, Ok(None));
        if let Some(found) = begun? {
            let differences = found.request.differences(request);
            if !differences.is_empty() {
                return Err(failed(Cause::KeyReused(found, differences)));
            }
            let Some(transaction_id) = found.processed_as().cloned() else {
                return Err(failed(Cause::Recorded(found)));
            };
            return Ok(Journaled {
                transaction_id,
                answer: None,
                not_recorded: None,
                same_transaction_as: None,
            });
        }
        if !is_awaited() {
            events::left_before_it_was_sent(key);
            end.ending = Ending::NotProcessed(Failure::of_kind(Failure::ABANDONED));
            // Nobody hears it.
            return Err(failed(end.write().await.map_or_else(Cause::Store, |_| Cause::Lost)));
        }
        end.ending = Ending::Unknown(Failure::of_kind(Failure::LOST));
        let result = contained(self.client.call(payment)).await;
        end.ending = match &result {
            Some(Ok(answer)) => Ending::Processed(P::processed_as(answer).clone()),
            Some(Err(error)) => match error.outcome() {
                Outcome::NotProcessed => Ending::NotProcessed(error.into()),
                Outcome::Rejected => Ending::Rejected(error.into()),
                Outcome::Unknown => Ending::Unknown(error.into()),
            },
            None => Ending::Unknown(Failure::of_kind(Failure::PANIC)),
        };
        let (same_transaction_as, not_recorded) = match end.write().await {
            Ok(other) => (other, None),
            Err(error) => (None, Some(error)),
        };
        let cause = match result {
            Some(Ok(answer)) => {
                let transaction_id = P::processed_as(&answer).clone();
                return Ok(Journaled {
                    transaction_id,
                    answer: Some(answer),
                    not_recorded,
                    same_transaction_as,
                });
            }
            Some(Err(error)) => Cause::Call(error),
            None => Cause::Panicked,
        };
        Err(Error::unrecorded(key.clone(), cause, not_recorded))
    }
}

/// Shorter ones, such as a security code, are in many harmless keys by chance.
const SHORTEST_SECRET: usize = 8;

/// What is to be written down of an attempt, which is not forgotten if its task is thrown away with its runtime.
struct End<'a> {
    journal: &'a Journal,
    key: &'a IntentKey,
    attempt: AttemptId,
    ending: Ending,
    is_open: bool,
}

impl End<'_> {
    fn change(&self) -> Change {
        Change::end(self.key.clone(), self.attempt.clone(), self.ending.clone(), SystemTime::now())
    }

    /// Writes it. Returns another intent that is processed as the same transaction.
    async fn write(&mut self) -> Result<Option<IntentKey>, StoreError> {
        let written = self.journal.end(self.change()).await;
        self.is_open = false;
        self.tell();
        written.inspect_err(|error| events::not_recorded(self.key, &self.ending, error))
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
    fn card_data(&self) -> Vec<&str> {
        self.secrets()
    }

    fn processed_as(data: &TransactionRecord) -> &TransactionId {
        &data.transaction_id
    }
}

impl Payment for AchTransaction {
    fn card_data(&self) -> Vec<&str> {
        self.secrets()
    }

    fn processed_as(data: &TransactionRecord) -> &TransactionId {
        &data.transaction_id
    }
}

impl Payment for TokenTransaction {
    fn kept_id(&self) -> Option<&str> {
        Some(self.token_id().as_str())
    }

    fn processed_as(data: &TransactionReceipt) -> &TransactionId {
        &data.transaction_id
    }
}

impl Payment for Void {
    fn kept_id(&self) -> Option<&str> {
        Some(self.transaction_id().as_str())
    }

    fn processed_as(data: &VoidReceipt) -> &TransactionId {
        &data.receipt.transaction_id
    }
}
