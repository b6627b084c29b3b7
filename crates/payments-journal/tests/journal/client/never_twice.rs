//! The guarantee, against random events in any order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use payments_core::model::Amount;
use payments_core::{
    Client, Outcome, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse,
};
use payments_fake::FakeGateway;
use payments_hyper::TokioTimer;
use payments_journal::internals::{Change, Ending, IntentStore as _};
use payments_journal::{Intent, Journal, JournaledClient, MemoryStore, Resolution, StateName};
use proptest::prelude::*;
use responses::response;

use crate::client::scripted_store::{ScriptedStore, Step};
use crate::client::support::{self, TEN_FIFTY, begin_for, key, payment_of};
use crate::contract::transaction;

/// What the network does with a request.
#[derive(Clone, Copy, Debug)]
enum Network {
    Processes,
    Declines,
    NeverConnects,
    LosesTheResponse,
    Panics,
}

/// Counts the requests that may have reached the service, from every process.
#[derive(Clone)]
struct Counting {
    next: Arc<Mutex<Network>>,
    last_sent: Arc<Mutex<Option<Network>>>,
    transmitted: Arc<AtomicUsize>,
}

impl Transport for Counting {
    async fn send(&self, _request: TransportRequest) -> Result<TransportResponse, TransportError> {
        tokio::task::yield_now().await;
        let next = *self.next.lock().unwrap();
        if !matches!(next, Network::NeverConnects) {
            self.transmitted.fetch_add(1, Ordering::SeqCst);
            *self.last_sent.lock().unwrap() = Some(next);
        }
        match next {
            Network::Processes => Ok(response("success", 100)),
            Network::Declines => Ok(response("failed", 200)),
            Network::NeverConnects => Err(TransportError::not_processed(TransportErrorKind::Connect)),
            Network::LosesTheResponse => Err(TransportError::unknown(TransportErrorKind::Closed)),
            Network::Panics => panic!("a defect"),
        }
    }
}

mod responses {
    use payments_core::TransportResponse;

    pub(super) fn response(status: &str, code: u16) -> TransportResponse {
        let body = format!(
            r#"{{"status":"{status}","status_code":{code},"message":"it","data":{{"TransactionId":"txn_1"}}}}"#
        );
        TransportResponse::new(http::Response::new(body.into()))
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// Several calls at once, from several processes.
    Pay {
        by: usize,
        at_once: usize,
        network: Network,
        store: [Step; 3],
    },
    /// A new attempt after a rejection, with another amount.
    PayAfterRejection {
        by: usize,
        cents: i64,
        network: Network,
        store: [Step; 3],
    },
    /// A caller that leaves after this many polls.
    PayAndLeave {
        by: usize,
        polls: usize,
        network: Network,
    },
    /// As `Pay`, once, while an earlier attempt is processed that a person has written off.
    PayWhileAnEarlierOneIsProcessed {
        by: usize,
        network: Network,
    },
    /// The process dies and restarts.
    Restart {
        of: usize,
    },
    ResolveAsNotProcessed,
    Reopen,
}

fn network() -> impl Strategy<Value = Network> {
    prop_oneof![
        1 => Just(Network::Processes),
        1 => Just(Network::Declines),
        3 => Just(Network::NeverConnects),
        2 => Just(Network::LosesTheResponse),
        1 => Just(Network::Panics),
    ]
}

fn store_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Made),
        1 => Just(Step::Refused),
        1 => Just(Step::ReplyLost),
        1 => Just(Step::RequestLost),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        5 => (0..2_usize, 1..4_usize, network(), [store_step(), store_step(), store_step()])
            .prop_map(|(by, at_once, network, store)| Event::Pay { by, at_once, network, store }),
        2 => (0..2_usize, 0..4_usize, network())
            .prop_map(|(by, polls, network)| Event::PayAndLeave { by, polls, network }),
        2 => (0..2_usize, 10_50..10_52_i64, network(), [store_step(), store_step(), store_step()])
            .prop_map(|(by, cents, network, store)| Event::PayAfterRejection { by, cents, network, store }),
        2 => (0..2_usize, network())
            .prop_map(|(by, network)| Event::PayWhileAnEarlierOneIsProcessed { by, network }),
        2 => (0..2_usize).prop_map(|of| Event::Restart { of }),
        1 => Just(Event::ResolveAsNotProcessed),
        1 => Just(Event::Reopen),
    ]
}

struct Process {
    client: JournaledClient,
    store: ScriptedStore,
}

async fn start(shared: &MemoryStore, transport: &Counting) -> Process {
    let gateway = FakeGateway::new();
    let client = Client::builder(gateway.endpoint(), transport.clone(), TokioTimer::new()).build();
    let store = ScriptedStore::over(shared.another_owner(), []);
    let journal = Journal::open(store.clone()).await.unwrap();
    Process { client: JournaledClient::new(client, journal), store }
}

/// Lets every task of this runtime run as far as it can.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// A call is about its key: if it says that no money has moved, the row that it has written says so too.
#[track_caller]
fn assert_says_what_the_row_says(result: &support::Result, row: Option<Intent>) {
    if let Err(error) = result
        && error.outcome() != Outcome::Unknown
        && error.write_error().is_none()
        && let Some(row) = row
    {
        assert!(row.moved_nothing(), "{error}, and the row: {:?}", row.state);
    }
}

#[allow(clippy::too_many_lines, reason = "one branch for each kind of event")]
async fn play(events: Vec<Event>) {
    let shared = MemoryStore::new();
    let transport = Counting {
        next: Arc::new(Mutex::new(Network::Processes)),
        last_sent: Arc::default(),
        transmitted: Arc::default(),
    };
    let Counting { next, last_sent, transmitted } = &transport;
    let mut processes = [start(&shared, &transport).await, start(&shared, &transport).await];
    let observer = Journal::open(shared.another_owner()).await.unwrap();
    // The number of allowed transmissions: by the first call, a person, or an explicit new attempt after a rejection.
    let mut allowed = 1;
    for event in events {
        match event {
            Event::Pay { by, at_once, network, store } => {
                *next.lock().unwrap() = network;
                processes[by].store.then(store);
                let mut calls = tokio::task::JoinSet::new();
                for number in 0..at_once {
                    let client = processes[(by + number) % 2].client.clone();
                    calls.spawn(async move { client.process_token(&key(), &payment_of(TEN_FIFTY)).await });
                }
                let before = transmitted.load(Ordering::SeqCst);
                let is_paid = observer
                    .find(&key())
                    .await
                    .unwrap()
                    .is_some_and(|intent| intent.state.name() == StateName::Processed);
                let results = calls.join_all().await;
                let sent_now = transmitted.load(Ordering::SeqCst) - before;
                let provably_not = |error: &payments_journal::Error| error.outcome() == Outcome::NotProcessed;
                if results.iter().all(|result| result.as_ref().is_err_and(provably_not)) {
                    assert_eq!(sent_now, 0, "a transmitted call is never reported as not processed");
                }
                let says_unpaid = results.iter().filter_map(|result| result.as_ref().err()).any(provably_not);
                assert!(!(is_paid && says_unpaid), "a paid key is never reported as not processed");
                if let [result] = &results[..] {
                    assert_says_what_the_row_says(result, observer.find(&key()).await.unwrap());
                }
            }
            Event::PayAfterRejection { by, cents, network, store } => {
                let was_refused = matches!(*last_sent.lock().unwrap(), Some(Network::Declines));
                *next.lock().unwrap() = network;
                processes[by].store.then(store);
                let (before, allowed_before) = (transmitted.load(Ordering::SeqCst), allowed);
                let is_there = observer.find(&key()).await.unwrap().is_some();
                if was_refused && is_there {
                    allowed = before + 1;
                }
                let payment = payment_of(Amount::from_cents(cents));
                let result = processes[by].client.after_rejection(&key()).process_token(&payment).await;
                assert_says_what_the_row_says(&result, observer.find(&key()).await.unwrap());
                let is_sent = transmitted.load(Ordering::SeqCst) > before;
                assert!(!is_sent || is_there, "there is no rejection to follow");
                // Begun and not transmitted, so the next call may send it; its end may not be written yet.
                let is_free = |intent: &Intent| {
                    matches!(intent.state.name(), StateName::NotProcessed | StateName::Sending)
                };
                if !is_sent && !observer.find(&key()).await.unwrap().as_ref().is_some_and(is_free) {
                    allowed = allowed_before;
                }
            }
            Event::PayAndLeave { by, polls, network } => {
                *next.lock().unwrap() = network;
                let client = processes[by].client.clone();
                let mut call =
                    Box::pin(async move { client.process_token(&key(), &payment_of(TEN_FIFTY)).await });
                for _ in 0..polls {
                    let once = std::future::poll_fn(|context| {
                        std::task::Poll::Ready(call.as_mut().poll(context).is_ready())
                    });
                    if once.await {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
                drop(call);
                settle().await;
            }
            Event::PayWhileAnEarlierOneIsProcessed { by, network } => {
                // What the journal has kept is written first.
                processes[by].store.script.lock().unwrap().clear();
                let late = processes[by].client.journal().flush().await.unwrap();
                for end in late.iter().filter(|end| matches!(end.ending, Ending::Processed(_))) {
                    assert!(end.is_recorded, "{end:?}");
                }
                let slow = shared.another_owner();
                let Some(begun) = slow.apply(begin_for(&slow)).await.unwrap().written() else { continue };
                transmitted.fetch_add(1, Ordering::SeqCst);
                *last_sent.lock().unwrap() = Some(Network::LosesTheResponse);
                // It is considered dead.
                drop(slow);
                observer.mark_crashed().await.unwrap();
                let read = observer.find(&key()).await.unwrap().unwrap();
                observer.resolve(&read, Resolution::not_processed("ada")).await.unwrap();
                allowed = transmitted.load(Ordering::SeqCst) + 1;
                *next.lock().unwrap() = network;
                let store = &processes[by].store;
                *store.script.lock().unwrap() = [Step::Made, Step::Overtaken].into();
                let ending = Ending::Processed(transaction("txn_slow"));
                store.overtake_with(Change::end_of(begun, ending, SystemTime::now()));
                let result = processes[by].client.process_token(&key(), &payment_of(TEN_FIFTY)).await;
                assert_says_what_the_row_says(&result, observer.find(&key()).await.unwrap());
            }
            Event::Restart { of } => processes[of] = start(&shared, &transport).await,
            Event::ResolveAsNotProcessed => {
                let read = observer.find(&key()).await.unwrap();
                if let Some(read) = read
                    && observer.resolve(&read, Resolution::not_processed("ada")).await.is_ok()
                {
                    allowed = transmitted.load(Ordering::SeqCst) + 1;
                }
            }
            Event::Reopen => {
                if observer.reopen(&key(), &[200], "ada", None).await.is_ok() {
                    allowed = transmitted.load(Ordering::SeqCst) + 1;
                }
            }
        }
        let transmitted = transmitted.load(Ordering::SeqCst);
        assert!(transmitted <= allowed, "{transmitted} transmissions, {allowed} allowed");
        let is_recorded = observer.find(&key()).await.unwrap().is_some();
        assert!(transmitted == 0 || is_recorded, "no row, no charge");
        if let Some(intent) = observer.find(&key()).await.unwrap()
            && intent.state.name() == StateName::NotProcessed
        {
            assert!(transmitted < allowed, "a key that may be sent again has not been sent");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn key_is_transmitted_at_most_once_d43_d44(events in proptest::collection::vec(event(), 1..14)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(play(events));
    }
}
