//! The client that sends each key at most once.

use payments_core::{Client, VoidReceipt};
use payments_model::{
    AchTransaction, CardTransaction, TokenTransaction, TransactionReceipt, TransactionRecord, Void,
};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use crate::attempt::{Call, CallResult};
use crate::client_calls::client_calls;
use crate::error::Cause;
use crate::{Begin, Error, Intent, IntentKey, Journal, MovesMoney, Resolution, ResolveError, events};

/// A [`Client`] that sends at most once for each [`IntentKey`], over crashes, restarts, processes and machines.
///
/// Every call writes the intent before it calls the transport, and the outcome before it returns. With a key that was used
/// before, nothing is sent unless the journal proves that nothing can have been processed:
///
/// | the journal says | the call |
/// |---|---|
/// | nothing, or not processed | is sent |
/// | processed, as the service or a person reported | `Ok` with the transaction, nothing is sent |
/// | rejected | the same rejection, nothing is sent; another card is [a new attempt](Self::after_rejection) |
/// | unknown | unknown, nothing is sent |
/// | being sent | unknown, [`InProgress`](Cause::InProgress), nothing is sent |
/// | another request | [`KeyReused`](Cause::KeyReused), nothing is sent |
/// | another [service](Client::service) | unknown, [`OtherService`](Cause::OtherService), nothing is sent |
/// | cannot be read or written | unknown, [`Store`](Cause::Store), nothing is sent: call again with the same key |
///
/// Two requests are the same if they agree in operation, amount, token or last four digits of the card, sale or authorization,
/// and convenience fee. Nothing about an account is stored, so two accounts cannot be told apart.
///
/// # Dropping a call
///
/// Each call runs in its own task on the tokio runtime that polls it. Dropping the call's future does not end the task: a
/// request that was sent is awaited, and its outcome is written. A request that was not sent yet is not sent.
///
/// With the feature `tracing`, the task runs in the caller's span.
///
/// The end of the runtime ends the task, and then the outcome is unknown. Before `main` returns, for example on SIGTERM,
/// [`drain`](Self::drain) the client.
#[derive(Clone, Debug)]
pub struct JournaledClient {
    client: Client,
    journal: Journal,
    /// Each call in flight has a receiver of it.
    in_flight: watch::Sender<()>,
}

impl JournaledClient {
    /// Sends through this client what this journal allows to be sent.
    pub fn new(client: Client, journal: Journal) -> Self {
        Self { client, journal, in_flight: watch::Sender::new(()) }
    }

    /// Waits until every call of this client and its clones has ended and is recorded, including those whose futures were
    /// dropped. It does not stop new calls.
    pub async fn drain(&self) {
        self.in_flight.closed().await;
    }

    /// Makes a new attempt with a rejected key, for example with another card after a decline.
    ///
    /// It is sent if and only if the key was rejected or not processed, or a person has resolved it as not processed. The
    /// request may differ. If the key is processed, in flight or unknown, nothing is sent, and the result is that of a plain
    /// call. A key that is not in the journal is refused: [`NoSuchIntent`](Cause::NoSuchIntent).
    ///
    /// Call it only after somebody has decided again to pay, for example a customer who entered another card. Retries, reruns
    /// and everything automatic use plain calls, which never send a rejected intent again.
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
    /// // A second new attempt does not pay again.
    /// let again = client.after_rejection(&key).process_token(&other).await?;
    /// assert_eq!(again.transaction_id, charged.transaction_id);
    /// # gateway.ledger().assert_charged_once(amount);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn after_rejection<'a>(&'a self, key: &'a IntentKey) -> AfterRejection<'a> {
        AfterRejection { client: self, key }
    }

    /// Records that this intent was processed as the transaction of the resolution, after looking it up: the record must have
    /// this id, and its amount and the last four digits of its card must not contradict the attempt. `read` is the intent as
    /// the person saw it; if it changes before this writes, nothing is written.
    ///
    /// The lookup proves that there is such a transaction. It does not prove that it belongs to this intent, or that it was
    /// charged. Only a person can know that, so the record is returned to be shown.
    ///
    /// # Errors
    ///
    /// If the resolution names no processed transaction, if the intent belongs to
    /// [another service](ResolveError::is_other_service), if the transaction cannot be looked up or contradicts the attempt, and
    /// as [`Journal::resolve`]. Nothing was changed.
    pub async fn look_up_and_resolve(
        &self,
        read: &Intent,
        resolution: Resolution,
    ) -> Result<(Intent, TransactionRecord), ResolveError> {
        self.journal.look_up_and_resolve(&self.client, read, resolution).await
    }

    /// Runs one call in a task that outlives its caller.
    async fn begin<P: MovesMoney>(&self, key: &IntentKey, payment: &P, begin: Begin) -> CallResult<P::Data> {
        let call = Call::new(&self.client, &self.journal, key, payment);
        let key = call.shown_key().clone();
        let failed = |cause| Err(Error::new(key.clone(), cause));
        let Ok(runtime) = Handle::try_current() else { return failed(Cause::NoRuntime) };
        let (sender, receiver) = oneshot::channel();
        let (in_flight, payment) = (self.in_flight.subscribe(), payment.clone());
        let task = async move {
            let result = call.attempt(&payment, begin, || !sender.is_closed()).await;
            // A caller that has left finds the outcome in the journal.
            if let Err(Ok(processed)) = sender.send(result) {
                events::processed_after_caller_left(call.shown_key(), &processed.transaction_id);
            }
            drop(in_flight);
        };
        let task = runtime.spawn(events::in_span(&key, task));
        if let Ok(result) = receiver.await {
            return result;
        }
        let has_panicked = task.await.is_err_and(|error| error.is_panic());
        failed(if has_panicked { Cause::Panicked("the journal") } else { Cause::Lost })
    }
}

client_calls!("nothing is sent before `call` is called and awaited", async, .await);
