//! A charge with a key, which the journal allows to be sent at most once.

use std::cell::Cell;
use std::pin::pin;
use std::time::{Duration, SystemTime};

use payments_core::{Outcome, Success};
use payments_journal::{Error, IntentKey, IntentRequest, IntentState, Journal, JournaledClient, MovesMoney};
use tokio::time::timeout;

use crate::args::ClientOptions;
use crate::args::journal::IntentOptions;
use crate::call::admission::{Admission, like_a_card, open_to_find, place_and_key};
use crate::call::journaled_failure::{failed, journal_not_opened};
use crate::call::{self, Call, Prepared, trace};
use crate::failure::{Abandoned, Failure};
use crate::output::Output;
use crate::process::Interrupt;
use crate::process::run_to_report::{self, catch_panic};
use crate::report::{DryRun, ExitCode, Processed, Report};
use crate::rows::card_like_ids::{self, NOT_CARDS};
use crate::settings::{JournalPlace, OpenFor, PrintedCommands};
use crate::stderr;

/// A call that can be recorded in a journal.
pub(crate) trait Charge: Call {
    /// What the journal keeps of the request.
    fn request(&self) -> IntentRequest;

    /// Sends the request if the journal allows it.
    async fn send_with(&self, attempt: &Attempt<'_>) -> Result<Processed, Error>;
}

/// How a charge is sent.
pub(crate) struct Attempt<'a> {
    pub(crate) client: &'a JournaledClient,
    pub(crate) key: &'a IntentKey,
    /// Whether the journal should allow one more attempt with a key that was rejected.
    pub(crate) is_after_rejection: bool,
}

impl Attempt<'_> {
    /// Sends the request if the journal allows it, and describes its response with `moved`.
    pub(crate) async fn send<P: MovesMoney>(
        &self,
        request: &P,
        moved: impl FnOnce(&Success<P::Data>) -> Processed,
    ) -> Result<Processed, Error> {
        let sent = if self.is_after_rejection {
            self.client.after_rejection(self.key).call(request).await
        } else {
            self.client.call(self.key, request).await
        };
        Ok(Processed::journaled(sent?, self.key, moved))
    }
}

/// Like [`call::run`], through a journal if the options name one.
pub(crate) fn run<C: Charge>(
    options: ClientOptions,
    output: &Output,
    intent: &IntentOptions,
    read: impl FnOnce() -> Result<C, Failure> + Send + 'static,
) -> ExitCode {
    let (place, key) = match place_and_key(intent) {
        Ok(Some(found)) => found,
        Ok(None) => return call::run(options, output, read),
        Err(failure) => return output.write(&Report::from(failure)),
    };
    let call = async |interrupt: &mut Interrupt, has_begun: &Cell<bool>| {
        let ended =
            send_once(options, &output.commands, interrupt, intent, (&place, &key), read, has_begun).await;
        let is_interrupted = matches!(&ended, Err(failure) if failure.advice.is_interrupted);
        // If it panics, the result of the call is still reported.
        let _ = catch_panic(place.close(!is_interrupted)).await;
        ended
    };
    run_to_report::run(output, C::PURPOSE, 0, call, |has_begun| {
        if has_begun {
            call::maybe_sent(Abandoned::Panic, None, Some(&key), &output.commands)
        } else {
            journal_not_opened(Abandoned::Panic.harmless(""))
        }
    })
}

async fn send_once<C: Charge>(
    options: ClientOptions,
    commands: &PrintedCommands,
    interrupt: &mut Interrupt,
    intent: &IntentOptions,
    (place, key): (&JournalPlace, &IntentKey),
    read: impl FnOnce() -> Result<C, Failure> + Send + 'static,
    has_begun: &Cell<bool>,
) -> Result<Report, Failure> {
    let ClientOptions { dry_run, verbose, .. } = options;
    let Prepared { settings, client, call } = Prepared::new(options, interrupt, read).await?;
    settings.require_one_key()?;
    trace::introduce(place, verbose);
    // With a new key, what looks like a card number is refused, without creating a journal.
    let payment = call.request();
    let like_a_card = like_a_card(key, &payment).filter(|_| !intent.ids_are_not_cards);
    let known = if like_a_card.is_some() || dry_run {
        open_to_find(key, place, dry_run, interrupt).await?
    } else {
        None
    };
    let is_recorded = matches!(known, Some((_, Some(_))));
    if let Some(field) = like_a_card.filter(|_| !is_recorded) {
        let message = format!("{field} {}; nothing was sent; {NOT_CARDS}", card_like_ids::rule(field));
        return Err(Failure::usage(message));
    }
    let service = settings.endpoint.service();
    let admission =
        Admission { place, key, service, payment: &payment, is_after_rejection: intent.after_rejection };
    if dry_run {
        if let Some((journal, _)) = &known {
            interrupt.unless_arrived(admission.may_be_sent(journal)).await?;
        }
        let dry_run = DryRun::of(call.http_request(&settings.endpoint))?;
        return Ok(Report::DryRun(DryRun { is_key_recorded: is_recorded, ..dry_run }));
    }
    let journal = match known {
        Some((journal, _)) => journal,
        None => interrupt.unless_arrived(place.open(OpenFor::Charging)).await.map_err(journal_not_opened)?,
    };
    let may_be_sent = interrupt.unless_arrived(admission.may_be_sent(&journal)).await?;
    let client = JournaledClient::new(client.build(), journal);
    let at = SystemTime::now();
    let attempt = Attempt { client: &client, key, is_after_rejection: intent.after_rejection };
    has_begun.set(true);
    let abandoned = |why| {
        let failure = call::after_sending(&call, Some(key), why, commands);
        Err(call::with_sent(failure, &call, &settings, at))
    };
    let sending = catch_panic(call.send_with(&attempt));
    let ended = match until_second_signal(sending, interrupt).await {
        Ok(ended) => ended,
        Err(signal) => return abandoned(Abandoned::Signal(signal)),
    };
    let Some(ended) = ended else { return abandoned(Abandoned::Panic) };
    match recorded(ended, client.journal(), key, interrupt).await {
        Ok(mut processed) => {
            if let Some(note) = &mut processed.note {
                note.may_have_been_sent = may_be_sent;
            }
            Ok(Report::Processed(processed))
        }
        Err(error) => Err(failed(&error, &call, &settings, commands, at)),
    }
}

/// Waits for a charge, which a first signal does not end: its response can still be recorded. The error is a second signal.
async fn until_second_signal<T>(
    sending: impl Future<Output = T>,
    interrupt: &mut Interrupt,
) -> Result<T, &'static str> {
    let mut sending = pin!(sending);
    let signal = match interrupt.or_signal(&mut sending).await {
        Ok(ended) => return Ok(ended),
        Err(signal) => signal,
    };
    stderr::write(format!(
        "{signal}: waiting for the response so that it can be recorded in the journal; a second signal ends at once\n"
    ));
    interrupt.or_signal(sending).await
}

/// The result after the journal got more time to record what it could not record at first. It must then have this outcome of the
/// key, or a success: another process or a person may have decided otherwise meanwhile.
async fn recorded(
    ended: Result<Processed, Error>,
    journal: &Journal,
    key: &IntentKey,
    interrupt: &mut Interrupt,
) -> Result<Processed, Error> {
    let is_recorded_already = match &ended {
        Ok(processed) => processed.note.as_ref().is_none_or(|note| note.not_recorded.is_none()),
        Err(error) => error.write_error().is_none(),
    };
    if is_recorded_already {
        return ended;
    }
    let outcome = ended.as_ref().err().map(Error::outcome);
    let recording = async {
        // One that cannot be recorded does not keep the journal from recording others.
        let _ = journal.flush().await;
        let found = journal.find(key).await.ok().flatten();
        found.filter(|intent| is_recorded(outcome, &intent.state))
    };
    match interrupt.or_signal(timeout(LAST_WRITES, catch_panic(recording))).await {
        Ok(Ok(Some(Some(intent)))) => {
            ended.map(|processed| processed.recorded_late(&intent)).map_err(Error::flushed)
        }
        _ => ended,
    }
}

/// Whether this state is what a call with this outcome, or with a success, leaves behind.
pub(crate) const fn is_recorded(outcome: Option<Outcome>, state: &IntentState) -> bool {
    matches!(
        (outcome, state),
        (None, IntentState::Processed { .. })
            | (Some(Outcome::Rejected), IntentState::Rejected(_))
            | (Some(Outcome::NotProcessed), IntentState::NotProcessed(_))
            | (Some(Outcome::Unknown), IntentState::Unknown(_))
    )
}

/// Chosen by this command: how long it waits at its end for a journal that could not record an outcome. Outcomes that are still
/// not recorded are reported.
pub(crate) const LAST_WRITES: Duration = Duration::from_secs(5);

#[cfg(test)]
pub(crate) mod tests {
    use std::future::ready;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use payments_core::{Client, Transport, TransportError, TransportRequest, TransportResponse};
    use payments_fake::FakeGateway;
    use payments_hyper::TokioTimer;
    use payments_journal::internals::{
        Applied, Begin, Change, Ending, IntentStore, NewAttempt, Rows, async_trait,
    };
    use payments_journal::{
        AttemptId, Failure, Intent, MemoryStore, OwnerId, Purged, Resolution, StateName, StoreError,
    };
    use payments_model::{Amount, ConvenienceFee, TokenTransaction, TransactionId};

    use super::*;

    /// A person may have resolved the key before its outcome arrived: then the journal says something else.
    #[test]
    fn only_the_same_outcome_is_recorded() {
        let id = TransactionId::new("txn_1").unwrap();
        let (before, failure) = (Failure::of_kind("crash"), Failure::of_kind("timeout"));
        let resolution = Resolution::processed(id.clone(), "ada");
        let states = [
            (IntentState::Processed { transaction_id: id }, Some(None)),
            (IntentState::Rejected(failure.clone()), Some(Some(Outcome::Rejected))),
            (IntentState::NotProcessed(failure.clone()), Some(Some(Outcome::NotProcessed))),
            (IntentState::Unknown(failure), Some(Some(Outcome::Unknown))),
            (IntentState::Resolved { resolution, before }, None),
            (IntentState::Sending, None),
        ];
        for (state, expected) in states {
            for outcome in
                [None, Some(Outcome::Rejected), Some(Outcome::NotProcessed), Some(Outcome::Unknown)]
            {
                assert_eq!(is_recorded(outcome, &state), expected == Some(outcome), "{outcome:?} {state:?}");
            }
        }
    }

    /// What is asked of a store.
    pub(crate) enum Asked<'a> {
        Change(&'a Change),
        Lookup,
        List,
    }

    /// Comes before the change that was asked for, which is not made after an error.
    pub(crate) type Before = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

    /// A store of which a test decides when it fails, hangs or panics.
    pub(crate) struct HookedStore {
        pub(crate) store: MemoryStore,
        pub(crate) before: Box<dyn Fn(Asked<'_>) -> Before + Send + Sync>,
        pub(crate) listed: Box<dyn Fn(Rows) -> Rows + Send + Sync>,
    }

    impl HookedStore {
        pub(crate) fn new(before: impl Fn(Asked<'_>) -> Before + Send + Sync + 'static) -> Self {
            Self { store: MemoryStore::new(), before: Box::new(before), listed: Box::new(|rows| rows) }
        }

        pub(crate) fn changing(
            before: impl Fn(&Change) -> Result<(), StoreError> + Send + Sync + 'static,
        ) -> Self {
            Self::new(move |asked| {
                let result = if let Asked::Change(change) = asked { before(change) } else { Ok(()) };
                Box::pin(ready(result))
            })
        }
    }

    #[async_trait]
    impl IntentStore for HookedStore {
        fn owner(&self) -> &OwnerId {
            self.store.owner()
        }
        async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
            (self.before)(Asked::Change(&change)).await?;
            self.store.apply(change).await
        }
        async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
            (self.before)(Asked::Lookup).await?;
            self.store.find(key).await
        }
        async fn list(
            &self,
            states: &[StateName],
            after: Option<i64>,
            limit: usize,
        ) -> Result<Rows, StoreError> {
            (self.before)(Asked::List).await?;
            Ok((self.listed)(self.store.list(states, after, limit).await?))
        }
        async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
            self.store.is_live(owner).await
        }
        async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
            self.store.purge(age).await
        }
        async fn close(&self) {}
    }

    /// While it sends, an earlier attempt turns out to be paid, and the journal fails once.
    struct EarlierIsPaid {
        store: MemoryStore,
        earlier: Change,
        fails: Arc<AtomicBool>,
        is_failing: bool,
        response: (u16, &'static str),
    }

    impl Transport for EarlierIsPaid {
        async fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
            self.store.apply(self.earlier.clone()).await.unwrap();
            self.fails.store(self.is_failing, Ordering::Relaxed);
            let (status, body) = self.response;
            let response = http::Response::builder().status(status).body(body.into());
            Ok(TransportResponse::new(response.unwrap()))
        }
    }

    pub(crate) fn payment(cents: i64) -> TokenTransaction {
        let payment = TokenTransaction::builder("tok_1", Amount::from_cents(cents), ConvenienceFee::Inactive);
        payment.build().unwrap()
    }

    /// A key, and a client whose next call gets this response. Before it, [`EarlierIsPaid`].
    pub(crate) async fn overtaken(
        response: (u16, &'static str),
        is_failing: bool,
    ) -> (IntentKey, JournaledClient) {
        let (store, key) = (MemoryStore::new(), IntentKey::new("invoice-17").unwrap());
        let dead = store.another_owner();
        let attempt = NewAttempt {
            begin: Begin::Plain,
            service: FakeGateway::BASE_URL.to_owned(),
            request: (&payment(100)).into(),
            attempt_id: AttemptId::new(),
            owner: dead.owner().clone(),
        };
        let begun = dead.apply(Change::begin(key.clone(), attempt, SystemTime::now())).await.unwrap();
        let paid = Ending::Processed(TransactionId::new("txn_1").unwrap());
        let earlier = Change::end_of(begun.written().unwrap(), paid, SystemTime::now());
        drop(dead);
        let fails = Arc::new(AtomicBool::new(false));
        let transport = EarlierIsPaid {
            store: store.another_owner(),
            earlier,
            fails: fails.clone(),
            is_failing,
            response,
        };
        let failing = HookedStore::changing(move |_| {
            let fails = fails.swap(false, Ordering::Relaxed);
            if fails { Err(StoreError::unavailable("the disk is full")) } else { Ok(()) }
        });
        let journal = Journal::open(HookedStore { store, ..failing }).await.unwrap();
        let unknown = journal.find(&key).await.unwrap().unwrap();
        journal.resolve(&unknown, Resolution::not_processed("ada").note("none")).await.unwrap();
        let client = Client::builder(FakeGateway::new().endpoint(), transport, TokioTimer::new()).build();
        (key, JournaledClient::new(client, journal))
    }

    #[tokio::test]
    async fn second_charge_is_reported_also_if_the_outcome_is_recorded_late() {
        let paid = r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_2"}}"#;
        for is_failing in [false, true] {
            let (key, client) = overtaken((200, paid), is_failing).await;
            let attempt = Attempt { client: &client, key: &key, is_after_rejection: false };
            let payment = payment(100);
            let ended = attempt
                .send(&payment, |success| Processed::moved(success, success.data(), &success.transaction_id));
            let mut interrupt = Interrupt::install().unwrap();
            let ended = recorded(ended.await, client.journal(), &key, &mut interrupt).await.unwrap();
            let note = ended.note.clone().unwrap();
            assert_eq!((note.second_charge.is_some(), note.not_recorded), (true, None), "{is_failing}");
            assert_eq!(Report::Processed(ended).exit_code(), ExitCode::SecondCharge);
        }
    }
}
