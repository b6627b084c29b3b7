use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, Void};
use payments_fake::{Choices, FakeGateway, Flushed, Reply, block_on};
use payments_sandbox::{DataFile, Store};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const KEYS: [&str; 2] = ["first_key_of_the_tests", "second_key_of_the_tests"];

pub(crate) const PRICE: Amount = Amount::from_cents(10_50);

/// A folder for one data file.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("payments.db")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("payments.db-wal")
    }

    /// The names of everything in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn open(&self, keys: &[&str]) -> StoredGateway {
        StoredGateway::open(&self.file(), keys)
    }

    /// A direct SQLite connection to the file, while no store has it open.
    pub(crate) fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file()).unwrap()
    }
}

/// A gateway and the store of its changes.
pub(crate) struct StoredGateway {
    pub(crate) gateway: FakeGateway,
    pub(crate) store: Store,
}

impl StoredGateway {
    pub(crate) fn open(path: &Path, keys: &[&str]) -> Self {
        Self::open_with(path, keys, |_| ())
    }

    pub(crate) fn open_with(path: &Path, keys: &[&str], choose: impl FnOnce(&mut Choices)) -> Self {
        let file = DataFile::open(path, keys).unwrap();
        let builder = FakeGateway::builder().seed(file.starts()).ignore_unfired_faults().choices(choose);
        let (gateway, store) = file.gateway(builder).unwrap();
        Self { gateway, store }
    }

    pub(crate) fn close(self) {
        block_on(self.store.close()).unwrap();
    }

    pub(crate) fn flushed(&self) -> Flushed {
        let responder = self.gateway.responder();
        Box::pin(async move { responder.flushed().await })
    }

    /// The state of each key.
    pub(crate) fn states(&self) -> Vec<String> {
        self.gateway.tenants().map(|tenant| tenant.state_json()).collect()
    }

    /// Adds a customer: a change without a payment.
    pub(crate) fn add_customer(&self, key: &str, id: &str) {
        let json = format!(r#"{{"CustomerId":"{id}","CustomerName":"Ada Example"}}"#);
        self.gateway.tenant(key).unwrap().add_customer_json(&json).unwrap();
    }

    /// Charges a named token and returns the transaction's id.
    pub(crate) fn pay(&self, key: &str) -> String {
        let response = self.charge(key, "tok_approved");
        response["data"]["TransactionId"].as_str().unwrap().to_owned()
    }

    pub(crate) fn charge(&self, key: &str, token: &str) -> Value {
        let payment = TokenTransaction::builder(token, PRICE, ConvenienceFee::Inactive).build().unwrap();
        self.post(key, "/token-transaction", Bytes::from_owner(payment.to_json()))
    }

    pub(crate) fn void(&self, key: &str, id: &str) -> Value {
        let void = Void::new(id.parse().unwrap()).reason("a test");
        self.post(key, "/void", Bytes::from_owner(void.to_json()))
    }

    pub(crate) fn post(&self, key: &str, path: &str, body: Bytes) -> Value {
        let request = http::Request::post(format!("https://pay.example.com/api/v1/public{path}"))
            .header("authorization", key)
            .header("content-type", "application/json")
            .body(body)
            .unwrap();
        match self.gateway.handle(noon(), request) {
            Reply::Answer(response) => serde_json::from_slice(response.body()).unwrap(),
            reply => panic!("expected a response, not {reply:?}"),
        }
    }
}

fn noon() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000)
}

/// Polls a future once, without a waker.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Holds the writer between two commits: the writer wakes the waiters of the first one, and this waker does not return.
pub(crate) struct Hold {
    waker: Waker,
    is_held: mpsc::Receiver<()>,
    release: mpsc::Sender<()>,
}

struct Holding {
    held: mpsc::Sender<()>,
    released: Mutex<mpsc::Receiver<()>>,
}

impl Wake for Holding {
    fn wake(self: Arc<Self>) {
        // An error means that the `Hold` was dropped, which releases the writer.
        let _ = self.held.send(());
        let _ = self.released.lock().unwrap().recv();
    }
}

impl Hold {
    pub(crate) fn new() -> Self {
        let (held, is_held) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let waker = Waker::from(Arc::new(Holding { held, released: released.into() }));
        Self { waker, is_held, release }
    }

    /// Makes a change, and waits until the writer has committed it and is held.
    pub(crate) fn after_a_change(stored: &StoredGateway) -> Self {
        // If the commit ends before the hold waits for it, the waker is not called. Then this tries again.
        for attempt in 0.. {
            stored.add_customer(KEYS[0], &format!("cus_holds_{attempt}"));
            let hold = Self::new();
            let mut flushed = stored.flushed();
            if hold.waits_for(&mut flushed) {
                hold.wait();
                return hold;
            }
        }
        unreachable!("the loop ends only with a hold");
    }

    /// Whether the future is pending. If so, the writer is held when it makes the future ready.
    pub(crate) fn waits_for(&self, flushed: &mut Flushed) -> bool {
        flushed.as_mut().poll(&mut Context::from_waker(&self.waker)).is_pending()
    }

    /// Waits until the writer is held.
    pub(crate) fn wait(&self) {
        self.is_held.recv().unwrap();
    }

    pub(crate) fn release(self) {
        self.release.send(()).unwrap();
    }
}

/// How many transactions are in the write-ahead log.
pub(crate) fn commits_in(log: &Path) -> usize {
    ends_of_commits(&fs::read(log).unwrap()).len()
}

/// Where each transaction ends in a write-ahead log. The last frame of a transaction has the size of the database.
pub(crate) fn ends_of_commits(log: &[u8]) -> Vec<usize> {
    const HEADER: usize = 32;
    const FRAME_HEADER: usize = 24;
    let page_size = u32::from_be_bytes(log[8..12].try_into().unwrap()) as usize;
    // After a reset of the log, old frames with another salt are left behind the new ones.
    let salt = &log[16..24];
    let frames = log[HEADER..].chunks_exact(FRAME_HEADER + page_size);
    let own = frames.take_while(|frame| &frame[8..16] == salt).enumerate();
    own.filter(|(_, frame)| frame[4..8] != [0; 4])
        .map(|(number, _)| HEADER + (number + 1) * (FRAME_HEADER + page_size))
        .collect()
}
