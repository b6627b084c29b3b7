use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use payments_core::{Client, Outcome, Success, VoidReceipt};
use payments_model::{
    AchTransaction, CardTransaction, TokenTransaction, TransactionId, TransactionReceipt, TransactionRecord,
    Void,
};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use crate::events;
use crate::journal::Begun;
use crate::payment::Payment;
use crate::row::now;
use crate::{
    AttemptId, Change, Ending, Error, Failure, Intent, IntentKey, IntentState, Journal, Journaled,
    Resolution, ResolveError, StoreError,
};

/// A [`Client`] that sends at most once for each [`IntentKey`], over crashes, restarts, processes and machines.
///
/// Every call writes the intent down before the transport is called, and how it ended before the result is handed back.
/// With a key that has been used before, nothing is sent unless the journal proves that nothing can have been processed:
///
/// | the journal says | the call |
/// |---|---|
/// | nothing, or not processed | is sent |
/// | processed, by the service's word or a person's | `Ok` with the transaction, nothing is sent |
/// | rejected | the same rejection, nothing is sent; another card is [a new attempt](Self::after_rejection) |
/// | unknown | unknown, nothing is sent |
/// | being sent | [`is_in_progress`](Error::is_in_progress), nothing is sent |
/// | another request | [`is_key_reused`](Error::is_key_reused), nothing is sent |
/// | cannot be read or written | unknown, [`is_journal`](Error::is_journal), nothing is sent: call again with the same key |
///
/// Two requests are the same if operation, amount, token or last four digits of the card, sale or authorisation, and
/// convenience fee are. Of an account nothing is kept, so two accounts cannot be told apart.
///
/// # Dropping a call
///
/// Each call runs in a task of its own on the tokio runtime that polls it. Dropping the call's future does not end the
/// task: what was sent is waited for, and how it ended is written down. What was not sent yet when the caller went away is
/// not sent any more.
///
/// The task runs in the caller's span, with the feature `tracing`.
///
/// The end of the runtime does end it, and then its outcome is unknown. Before `main` returns, as on SIGTERM,
/// [`drain`](Self::drain) the client.
#[derive(Clone, Debug)]
pub struct JournaledClient {
    client: Client,
    journal: Journal,
    /// How many attempts are under way.
    under_way: watch::Sender<usize>,
}

impl JournaledClient {
    /// Sends through this client what this journal allows.
    pub fn new(client: Client, journal: Journal) -> Self {
        Self { client, journal, under_way: watch::Sender::new(0) }
    }

    /// The client, for look-ups. What moves money by it is in no journal.
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// The journal.
    pub const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Waits until every call of this client and its clones has ended and is written down, those whose futures were dropped
    /// among them. It keeps no new call from beginning.
    pub async fn drain(&self) {
        // This very client holds the sending half.
        let _ = self.under_way.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Processes a card payment, sent at most once for this key.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether the card can have been charged.
    pub async fn process_card(
        &self,
        key: &IntentKey,
        payment: &CardTransaction,
    ) -> Result<Journaled<TransactionRecord>, Error> {
        self.call(key, payment, false).await
    }

    /// Processes an ACH payment, sent at most once for this key.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether the account can have been debited.
    pub async fn process_ach(
        &self,
        key: &IntentKey,
        payment: &AchTransaction,
    ) -> Result<Journaled<TransactionRecord>, Error> {
        self.call(key, payment, false).await
    }

    /// Processes a payment with a stored token, sent at most once for this key.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether the token can have been charged.
    pub async fn process_token(
        &self,
        key: &IntentKey,
        payment: &TokenTransaction,
    ) -> Result<Journaled<TransactionReceipt>, Error> {
        self.call(key, payment, false).await
    }

    /// Voids a previously authorised transaction, sent at most once for this key.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether the authorisation can have been voided.
    pub async fn void(&self, key: &IntentKey, void: &Void) -> Result<Journaled<VoidReceipt>, Error> {
        self.call(key, void, false).await
    }

    /// Asks for a new attempt with a key that was refused, such as with another card after a decline.
    ///
    /// It is sent if and only if the journal says that the key was rejected or not processed, or a person has resolved it as
    /// not processed. The request may be another one. If the key is processed, in flight or unknown, nothing is sent, and
    /// it is told as by a plain call. A key that the journal does not know is refused:
    /// [`is_no_such_intent`](Error::is_no_such_intent).
    ///
    /// Call it only after somebody has decided anew to pay, for example a customer who entered another card. Retries, reruns
    /// and everything automatic are plain calls: those never send again what was rejected.
    ///
    /// ```
    /// use payments_core::Outcome;
    /// # use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
    /// # use payments_fake::FakeGateway;
    /// # use payments_journal::{IntentKey, Journal, JournaledClient, MemoryStore};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let gateway = FakeGateway::new();
    /// # let client = JournaledClient::new(gateway.client(), Journal::open(MemoryStore::new()).await?);
    /// # let amount = Amount::from_cents(10_50);
    /// # let pay_with = |token: &str| TokenTransaction::builder(token, amount, ConvenienceFee::Inactive).build();
    /// let (declined, other) = (pay_with("tok_declined")?, pay_with("tok_approved")?);
    /// let key = IntentKey::new("order-4711")?; // one key for the order, whatever it is paid with
    ///
    /// let refused = client.process_token(&key, &declined).await.unwrap_err();
    /// assert_eq!(refused.outcome(), Outcome::Rejected);
    /// let charged = client.after_rejection(&key).process_token(&other).await?;
    /// # gateway.ledger().assert_charged_once(amount);
    /// // Asked for twice, it is still paid once.
    /// let again = client.after_rejection(&key).process_token(&other).await?;
    /// assert_eq!(again.transaction_id, charged.transaction_id);
    /// # gateway.ledger().assert_charged_once(amount);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn after_rejection<'a>(&'a self, key: &'a IntentKey) -> AfterRejection<'a> {
        AfterRejection { client: self, key }
    }

    /// Writes down that an intent of unknown outcome was processed as this transaction, after looking it up: its amount
    /// and the last four digits of its card must not contradict the intent. `by` is who says so.
    ///
    /// The look-up proves that there is such a transaction, and not that it is this intent's, nor that it was charged: only a
    /// person can know that, so the record is handed back to be shown.
    ///
    /// # Errors
    ///
    /// If the transaction cannot be looked up or contradicts the intent, and as [`Journal::resolve`]. Nothing was changed.
    pub async fn resolve_processed(
        &self,
        key: &IntentKey,
        transaction_id: &TransactionId,
        by: &str,
        note: Option<&str>,
    ) -> Result<(Intent, TransactionRecord), ResolveError> {
        let intent = self.journal.find(key).await?.ok_or_else(|| ResolveError::no_such_intent(key))?;
        if !matches!(intent.state, IntentState::Unknown(_) | IntentState::Resolved { .. }) {
            return Err(ResolveError::not_unknown(&intent));
        }
        let record = self.client.transaction(transaction_id).await.map_err(ResolveError::look_up)?;
        let contradictions = intent.request.contradictions(&record);
        if !contradictions.is_empty() {
            return Err(ResolveError::contradicted(contradictions));
        }
        let resolution = Resolution::processed(transaction_id.clone(), by);
        let resolution = note.into_iter().fold(resolution, Resolution::note);
        Ok((self.journal.resolve(key, resolution).await?, record.into_data()))
    }

    async fn call<P: Payment>(
        &self,
        key: &IntentKey,
        payment: &P,
        is_after_rejection: bool,
    ) -> Result<Journaled<P::Data>, Error> {
        let is_in_key = |secret: &&str| secret.len() >= SHORTEST_SECRET && key.as_str().contains(*secret);
        let is_api_key_kept = [Some(key.as_str()), payment.kept_id()]
            .into_iter()
            .flatten()
            .any(|text| self.client.is_api_key_in(text));
        if is_api_key_kept || payment.card_data().iter().any(is_in_key) {
            return Err(Error::secret_in_key(key.clone()));
        }
        let Ok(runtime) = Handle::try_current() else {
            return Err(Error::no_runtime(key.clone()));
        };
        let (tell, told) = oneshot::channel();
        let attempt = Attempt {
            of: self.clone(),
            key: key.clone(),
            id: AttemptId::new(),
            payment: payment.clone(),
            is_after_rejection,
        };
        let under_way = UnderWay::begin(&self.under_way);
        let task = async move {
            let key = attempt.key.clone();
            let is_awaited = || !tell.is_closed();
            let result = attempt.make(is_awaited).await;
            // Who does not listen any more finds it in the journal.
            if let Err(Ok(unheard)) = tell.send(result) {
                events::processed_unheard(&key, &unheard.transaction_id);
            }
            drop(under_way);
        };
        runtime.spawn(events::in_span(key, task));
        told.await.unwrap_or_else(|_| Err(Error::lost(key.clone())))
    }
}

/// One new attempt with a key that was refused: see [`JournaledClient::after_rejection`].
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is sent before one of its methods is called and awaited"]
pub struct AfterRejection<'a> {
    client: &'a JournaledClient,
    key: &'a IntentKey,
}

impl AfterRejection<'_> {
    /// Processes a card payment, if the key moved no money so far.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether a card can have been charged for this key, by this call or an earlier one.
    pub async fn process_card(
        self,
        payment: &CardTransaction,
    ) -> Result<Journaled<TransactionRecord>, Error> {
        self.client.call(self.key, payment, true).await
    }

    /// Processes an ACH payment, if the key moved no money so far.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether an account can have been debited for this key, by this call or an earlier one.
    pub async fn process_ach(self, payment: &AchTransaction) -> Result<Journaled<TransactionRecord>, Error> {
        self.client.call(self.key, payment, true).await
    }

    /// Processes a payment with a stored token, if the key moved no money so far.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether a token can have been charged for this key, by this call or an earlier one.
    pub async fn process_token(
        self,
        payment: &TokenTransaction,
    ) -> Result<Journaled<TransactionReceipt>, Error> {
        self.client.call(self.key, payment, true).await
    }

    /// Voids a previously authorised transaction, if the key moved no money so far.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether an authorisation can have been voided for this key, by this call or an earlier one.
    pub async fn void(self, void: &Void) -> Result<Journaled<VoidReceipt>, Error> {
        self.client.call(self.key, void, true).await
    }
}

/// Shorter ones, such as a security code, are in many harmless keys by chance.
const SHORTEST_SECRET: usize = 8;

/// Counts an attempt for as long as it is under way, also if its task is thrown away.
struct UnderWay(watch::Sender<usize>);

impl UnderWay {
    fn begin(counter: &watch::Sender<usize>) -> Self {
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
struct Attempt<P> {
    of: JournaledClient,
    key: IntentKey,
    id: AttemptId,
    payment: P,
    is_after_rejection: bool,
}

impl<P: Payment> Attempt<P> {
    async fn make(self, is_awaited: impl Fn() -> bool) -> Result<Journaled<P::Data>, Error> {
        let Self {
            of: JournaledClient { client, journal, under_way: _ },
            key,
            id,
            payment,
            is_after_rejection,
        } = self;
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
