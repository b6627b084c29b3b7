//! Random walks through the model, repeated with the real `JournaledClient`. After each step the row must be in the same state,
//! and the transport must have exactly the requests that the model sends. This shows that the model's senders take the steps of
//! the client.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionId};
use payments_core::{
    Client, Outcome, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse,
};
use payments_fake::FakeGateway;
use payments_hyper::TokioTimer;
use payments_journal::internals::{self, Applied, Change, IntentStore, async_trait};
use payments_journal::{
    Error, Intent, IntentKey, Journal, JournaledClient, MemoryStore, OwnerId, Purged, StateName, StoreError,
    Verdict,
};
use tokio::sync::oneshot;

use crate::model::{CALLS, Model, Protocol, Reply, Step};
use crate::rows::{Attempt, Finding, How, OWN_ID, Rows, real_decide};
use crate::state::{Key, Phase};

/// Holds a task until the test sends it a value.
struct Gate<T>(Arc<Mutex<Option<oneshot::Sender<T>>>>);

impl<T> Gate<T> {
    async fn wait(&self) -> T {
        let (sender, receiver) = oneshot::channel();
        *self.0.lock().unwrap() = Some(sender);
        receiver.await.expect("no gate is dropped before the test ends")
    }

    fn is_waiting(&self) -> bool {
        self.0.lock().unwrap().as_ref().is_some_and(|waiting| !waiting.is_closed())
    }

    /// Returns whether a task was waiting.
    async fn open(&self, value: T) -> bool {
        let waiting = self.0.lock().unwrap().take();
        let was_waiting = waiting.is_some_and(|waiting| waiting.send(value).is_ok());
        settle().await;
        was_waiting
    }
}

impl<T> Clone for Gate<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Lets every task run as far as it can.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

struct GatedStore {
    below: MemoryStore,
    gate: Gate<Reply>,
    /// Its result of `is_live` for every other owner.
    are_others_alive: bool,
}

#[async_trait]
impl IntentStore for GatedStore {
    fn owner(&self) -> &OwnerId {
        self.below.owner()
    }

    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        let in_doubt = Err(StoreError::in_doubt("the connection broke"));
        match self.gate.wait().await {
            Reply::Arrives => self.below.apply(change).await,
            Reply::LostAfter => self.below.apply(change).await.and(in_doubt),
            Reply::LostBefore => in_doubt,
        }
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.below.find(key).await
    }

    async fn list(
        &self,
        states: &[StateName],
        after: Option<i64>,
        limit: usize,
    ) -> Result<internals::Rows, StoreError> {
        self.below.list(states, after, limit).await
    }

    async fn is_live(&self, _owner: &OwnerId) -> Result<bool, StoreError> {
        Ok(self.are_others_alive)
    }

    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        self.below.purge(age).await
    }
}

/// A transport that holds each request until the test decides its end.
#[derive(Clone)]
struct Network {
    gate: Gate<How>,
    /// The requests of every process.
    sent: Arc<AtomicUsize>,
}

impl Transport for Network {
    async fn send(&self, _request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let response = |status, body: String| {
            Ok(TransportResponse::new(http::Response::builder().status(status).body(body.into()).unwrap()))
        };
        self.sent.fetch_add(1, Ordering::SeqCst);
        match self.gate.wait().await {
            How::Processed => response(
                200,
                format!(
                    r#"{{"status":"success","status_code":100,"message":"it","data":{{"TransactionId":"{OWN_ID}"}}}}"#
                ),
            ),
            How::Rejected => response(429, String::new()),
            How::NotProcessed => Err(TransportError::not_processed(TransportErrorKind::Connect)),
            How::Unknown => Err(TransportError::unknown(TransportErrorKind::Closed)),
        }
    }
}

/// A process, which has opened the journal and makes one call at a time.
struct Process {
    client: JournaledClient,
    store: Gate<Reply>,
    network: Gate<How>,
    /// What its last call returned, until it is checked.
    failed: Arc<Mutex<Option<Error>>>,
}

impl Process {
    async fn start(shared: &MemoryStore, sent: &Arc<AtomicUsize>, are_others_alive: bool) -> Self {
        let (store, network) = (Gate(Arc::default()), Gate(Arc::default()));
        let gated = GatedStore { below: shared.another_owner(), gate: store.clone(), are_others_alive };
        let journal = Journal::open(gated).await.unwrap();
        let endpoint = FakeGateway::new().endpoint();
        let transport = Network { gate: network.clone(), sent: sent.clone() };
        let client = Client::builder(endpoint, transport, TokioTimer::new()).build();
        Self { client: JournaledClient::new(client, journal), store, network, failed: Arc::default() }
    }

    async fn begin(&self, cents: i64, is_after_rejection: bool, reply: Reply) {
        let (client, failed) = (self.client.clone(), self.failed.clone());
        tokio::spawn(async move {
            let amount = Amount::from_cents(cents);
            let payment =
                TokenTransaction::builder("tok_1", amount, ConvenienceFee::Inactive).build().unwrap();
            let result = if is_after_rejection {
                client.after_rejection(&key()).process_token(&payment).await
            } else {
                client.process_token(&key(), &payment).await
            };
            *failed.lock().unwrap() = result.err();
        });
        settle().await;
        assert!(self.store.open(reply).await, "a call begins at the journal");
    }

    /// Lets the call write its end, or the journal write a kept one.
    async fn end(&self, how: How, reply: Reply) {
        self.network.open(how).await;
        if !self.store.open(reply).await {
            let journal = self.client.journal().clone();
            tokio::spawn(async move { journal.flush().await });
            settle().await;
            assert!(self.store.open(reply).await, "an end is kept until it is written");
        }
    }
}

/// A call speaks of its key: if it says that no money has moved, so does the row that it has just read or written.
fn check_answer(failed: Option<Error>, row: Option<&Intent>) {
    if let Some(error) = failed.filter(|it| it.outcome() != Outcome::Unknown && it.write_error().is_none()) {
        assert!(row.is_none_or(Intent::moved_nothing), "{error}, and the row: {row:?}");
    }
}

fn key() -> IntentKey {
    IntentKey::new("key").unwrap()
}

#[allow(clippy::too_many_lines, reason = "one arm for each kind of step")]
async fn walk(seed: u64) -> Vec<Step> {
    let model = Model::<1, 2> { rows: Rows::new(real_decide, true), protocol: Protocol::Correct };
    let (shared, sent) = (MemoryStore::new(), Arc::default());
    let mut processes =
        [Process::start(&shared, &sent, true).await, Process::start(&shared, &sent, true).await];
    let reader = Process::start(&shared, &sent, false).await;
    let person = Journal::open(shared.another_owner()).await.unwrap();
    let (mut crashed, mut read, mut recorded, mut random) = (vec![], [None, None], 10_50, seed);
    let (mut state, mut trace) = (Model::<1, 2>::start(), vec![]);
    // Which senders' requests the transport has, and how many requests it has had.
    let (mut is_at_transport, mut allowed, mut is_purged) = ([false; 2], 0, false);
    for _ in 0..60 {
        // A call that the journal refuses changes nothing, so it is not a step of the model.
        if let Some(sender) = state.senders.iter().position(Option::is_none) {
            for (is_after_rejection, is_same_request) in CALLS {
                let (key, reply) = (Key::First, Reply::Arrives);
                let step = Step::Begin { sender, key, is_after_rejection, is_same_request, reply };
                if model.take(&state, step) == Ok(state) {
                    let cents = if is_same_request { recorded } else { 21_01 - recorded };
                    processes[sender].begin(cents, is_after_rejection, reply).await;
                    assert_eq!(sent.load(Ordering::SeqCst), allowed, "seed {seed}: {trace:#?}, {step:?}");
                    let row = person.find(&self::key()).await.unwrap();
                    check_answer(processes[sender].failed.lock().unwrap().take(), row.as_ref());
                }
            }
        }
        let steps: Vec<_> = model.steps(state).collect();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let choice = usize::try_from(random >> 33).unwrap() % steps.len();
        let (step, next) = steps[choice];
        let next = next.expect("every rule holds");
        is_purged |= matches!(step, Step::Purge { .. });
        if let Step::End { sender, .. } = step
            && is_purged
            && state.senders[sender].is_some_and(|call| call.attempt == Attempt::Gone)
        {
            // The client may write the purged row whole, which `decide` of a row and a change does not show. `lost_history` tests it.
            break;
        }
        trace.push(step);
        match step {
            Step::Begin { sender, is_after_rejection, is_same_request, reply, .. } => {
                let cents = if is_same_request { recorded } else { 21_01 - recorded };
                processes[sender].begin(cents, is_after_rejection, reply).await;
                if next[Key::First].row != state[Key::First].row {
                    recorded = cents;
                }
            }
            Step::SendNothing { sender } => {
                assert!(processes[sender].network.open(How::NotProcessed).await, "{trace:?}");
            }
            Step::Respond { sender, how } => assert!(processes[sender].network.open(how).await, "{trace:?}"),
            Step::ReceiveNothing { sender } => {
                assert!(processes[sender].network.open(How::Unknown).await, "{trace:?}");
            }
            // The transport has the request. The response decides what the service does with it.
            Step::Send { .. } | Step::Charge { .. } => {}
            Step::End { sender, how, reply } => {
                processes[sender].end(how, reply).await;
                is_at_transport[sender] = false;
            }
            // Its calls stay where they are forever.
            Step::Crash { sender } => {
                let next = Process::start(&shared, &sent, true).await;
                crashed.push(std::mem::replace(&mut processes[sender], next));
                is_at_transport[sender] = false;
            }
            Step::ConsiderDead { .. } => {
                let journal = reader.client.journal().clone();
                tokio::spawn(async move { journal.mark_crashed().await });
                settle().await;
            }
            Step::MarkCrashed { .. } => assert!(reader.store.open(Reply::Arrives).await, "{trace:?}"),
            Step::ReadRow { reader, .. } => read[reader] = person.find(&key()).await.unwrap(),
            Step::Resolve { reader, finding } => {
                let read = read[reader].take().unwrap();
                if finding != Finding::EarlierProcessed || read.attempts > 1 {
                    let mut resolution = finding.resolution();
                    if let Verdict::Processed(id) = &mut resolution.verdict {
                        // Two attempts are not processed as one transaction.
                        *id = TransactionId::new(format!("{id}-{}", trace.len())).unwrap();
                    }
                    let _ = person.resolve(&read, resolution).await;
                }
            }
            Step::ResolveAtOnce { .. } => unreachable!("with one key a person reads first"),
            Step::Reopen { .. } => drop(person.reopen(&key(), &[401, 403, 429], "grace", None).await),
            Step::Purge { .. } => {
                shared.make_older(Duration::from_hours(25));
                person.purge_older_than(Journal::YOUNGEST_TO_PURGE).await.unwrap();
            }
        }
        state = next;
        let expected = state[Key::First].row.map(|row| model.rows.intent(row).state.name());
        let row = person.find(&key()).await.unwrap();
        for process in &processes {
            check_answer(process.failed.lock().unwrap().take(), row.as_ref());
        }
        let row = row.map(|intent| intent.state.name());
        assert_eq!(row, expected, "seed {seed}: {trace:#?}");
        for (sender, is_there) in is_at_transport.iter_mut().enumerate() {
            match state.senders[sender].map(|call| call.phase) {
                Some(Phase::Begun { .. }) => {
                    allowed +=
                        usize::from(matches!(step, Step::Begin { sender: begun, .. } if begun == sender));
                    *is_there = true;
                }
                Some(Phase::Waiting) => assert!(*is_there),
                // It was written off, and stays where it was.
                Some(Phase::WrittenOff(_)) => {}
                Some(Phase::Ending(_)) | None => *is_there = false,
            }
            let network = &processes[sender].network;
            assert_eq!(network.is_waiting(), *is_there, "sender {sender}, seed {seed}: {trace:#?}");
        }
        assert_eq!(sent.load(Ordering::SeqCst), allowed, "seed {seed}: {trace:#?}");
    }
    trace
}

#[test]
fn client_takes_the_steps_of_the_model() {
    // Time stands still, so that the journal does not write kept ends in the background.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let mut kinds = HashSet::new();
    for seed in 0..300 {
        kinds.extend(runtime.block_on(walk(seed)).iter().map(std::mem::discriminant));
    }
    assert_eq!(kinds.len(), 14, "every kind of step was taken");
}
