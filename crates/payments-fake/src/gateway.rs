use std::sync::{Arc, MutexGuard};
use std::time::SystemTime;

use bytes::Bytes;
use http::Request;
use payments_core::{ApiKey, Client, ClientBuilder, Endpoint, OperationName, blocking};
use payments_model::CustomerRecord;

use crate::randomness::SeededJitter;
use crate::service::Service;
use crate::{
    ArmedFault, FakeGatewayBuilder, FakeTransport, Fault, FaultId, Fixtures, Gate, HeldRequest, Ledger,
    ManualClock, Phase, RecordedRequest, Reply, Responder, StoredToken, Tenant,
};

/// The payment service as a state machine, for the tests of programs that take payments.
///
/// Each gateway is a world of its own: no port, no runtime, no global state. Cloning gives another handle to the same
/// one. See the [crate's documentation](crate) for how it is used.
///
/// # An armed fault that never fires fails the test
///
/// A fault that did not strike tested nothing, and its test would be green for the wrong reason. So when the last
/// `FakeGateway` of a gateway is dropped and an armed fault never fired, the drop panics and names the fault. It does
/// not if the thread is already panicking. Transports, clients and servers do not count: they may end on other threads,
/// where a panic is lost, so keep a handle until the end of the test.
/// [`assert_all_faults_fired`](Self::assert_all_faults_fired) asks earlier, and a fault that was not needed after all
/// can be [disarmed](Self::disarm).
///
/// A drop cannot see what the test returns. A test that fails with an `Err` ends with [`conclude`](Self::conclude), or this
/// panic hides its error.
#[derive(Clone, Debug)]
pub struct FakeGateway {
    responder: Responder,
    /// Only its drop matters, when the last handle goes. There is none in a server's handle, and where unfired faults are
    /// ignored.
    _sentinel: Option<Arc<Sentinel>>,
}

impl FakeGateway {
    /// The key that is accepted unless the builder is told another.
    pub const API_KEY: &'static str = "test_key_of_the_fake_gateway";

    /// An address for clients that only ever meet a [`FakeTransport`]. The domain `invalid` is reserved for names that
    /// do not exist, so that a test that goes to the network by mistake reaches nobody.
    pub const BASE_URL: &'static str = "https://payments.invalid/api/v1/public";

    /// A gateway with an empty ledger, the seeded customer and the [test values](crate::test_values).
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A gateway that differs from [`new`](Self::new).
    pub fn builder() -> FakeGatewayBuilder {
        FakeGatewayBuilder::new()
    }

    pub(crate) fn from_builder(builder: FakeGatewayBuilder) -> Self {
        let checks_faults = !builder.ignores_unfired_faults;
        let responder = Responder::new(builder);
        let sentinel = checks_faults.then(|| Arc::new(Sentinel(responder.clone())));
        Self { responder, _sentinel: sentinel }
    }

    /// A client of this gateway, ready to be called: its [endpoint](Self::endpoint), its
    /// [transport](Self::transport) and its [clock](Self::clock).
    pub fn client(&self) -> Client {
        self.client_builder().build()
    }

    /// The same before it is built, for other deadlines or an observer.
    pub fn client_builder(&self) -> ClientBuilder {
        Client::builder(self.endpoint(), self.transport(), self.clock().clone())
            .jitter(SeededJitter::default())
    }

    /// The same for programs without an async runtime.
    pub fn blocking_client(&self) -> blocking::Client {
        self.blocking_client_builder().build()
    }

    /// The same before it is built, for other deadlines or an observer.
    pub fn blocking_client_builder(&self) -> blocking::ClientBuilder {
        blocking::Client::builder(self.endpoint(), self.transport())
            .timer(self.clock().clone())
            .jitter(SeededJitter::default())
    }

    /// A transport that carries requests to this gateway.
    pub fn transport(&self) -> FakeTransport {
        FakeTransport::new(self.responder())
    }

    /// [`BASE_URL`](Self::BASE_URL) and the [key](Self::api_key).
    #[allow(clippy::missing_panics_doc, reason = "neither can fail: the builder checked the key")]
    pub fn endpoint(&self) -> Endpoint {
        let api_key = ApiKey::new(&self.api_key()).expect("the builder checked the key");
        Endpoint::new(Self::BASE_URL, api_key).expect("a constant https address")
    }

    /// The key that this gateway accepts, or the first of several.
    pub fn api_key(&self) -> String {
        self.service().tenants.api_keys[0].clone()
    }

    /// What belongs to a key, or nothing if the gateway does not accept it.
    pub fn tenant(&self, api_key: &str) -> Option<Tenant> {
        let index = self.service().tenants.with_key(api_key.as_bytes())?;
        Some(Tenant { responder: self.responder(), index })
    }

    /// Every tenant, in the order of the builder's keys.
    pub fn tenants(&self) -> impl Iterator<Item = Tenant> {
        let count = self.service().tenants.books.len();
        (0..count).map(|index| Tenant { responder: self.responder(), index })
    }

    /// The first key's tenant, whom the questions of this gateway are about.
    pub fn first_tenant(&self) -> Tenant {
        Tenant { responder: self.responder(), index: 0 }
    }

    /// Gives every tenant the records of the fixtures whose ids it does not have yet, and arms their faults.
    pub fn load(&self, fixtures: &Fixtures) {
        self.service().load(fixtures);
    }

    /// Forgets everything: the records of every tenant, faults, recorded requests, and what was to be committed late.
    /// Keys, choices and gates stay, and so does the place in the seed's sequence: what is made afterwards has new
    /// identifiers. A request that a fault [holds](Reply::Held) is forgotten too: it has no effect when it is resumed.
    pub fn reset(&self) {
        self.reset_to(&Fixtures::default());
    }

    /// A [`reset`](Self::reset) and a [`load`](Self::load) in one: no request and no restart ever finds the one without the
    /// other.
    pub fn reset_to(&self, fixtures: &Fixtures) {
        self.service().reset_to(fixtures);
    }

    /// The clock that this gateway's transports and clients wait by.
    pub fn clock(&self) -> &ManualClock {
        self.responder.clock()
    }

    /// Plans a failure; see [`Fault`]. Of several that could strike a request, the one armed first does.
    pub fn arm(&self, fault: Fault) -> FaultId {
        self.service().faults.arm(fault)
    }

    /// Takes a fault back, fired or not; says whether it was there.
    pub fn disarm(&self, id: FaultId) -> bool {
        self.service().faults.disarm(id)
    }

    /// Takes every fault back.
    pub fn disarm_all(&self) {
        self.service().faults.list.clear();
    }

    /// Every armed fault with how often it fired, in the order in which they were armed; spent ones included.
    pub fn faults(&self) -> Vec<ArmedFault> {
        self.service().faults.list.clone()
    }

    /// Every armed fault struck at least once.
    ///
    /// # Panics
    ///
    /// If one never did.
    #[track_caller]
    pub fn assert_all_faults_fired(&self) {
        let unfired = self.service().faults.unfired();
        if let Some(message) = unfired {
            panic!("{message}");
        }
    }

    /// Ends a test that uses `?`: returns its result, and its own error is the one that is shown.
    ///
    /// A test that ends early has often not come to its fault. With an `Err`, the faults that never fired are printed, and
    /// all are disarmed, so that no drop panics over them. With an `Ok`, they fail the test as ever.
    ///
    /// ```
    /// use std::error::Error;
    ///
    /// use payments_core::OperationName;
    /// use payments_fake::{FakeGateway, Fault, block_on};
    ///
    /// // #[test]
    /// fn a_lost_void_is_looked_up() -> Result<(), Box<dyn Error>> {
    ///     let gateway = FakeGateway::new();
    ///     gateway.arm(Fault::response_lost(OperationName::Void));
    ///     let result = block_on(async {
    ///         // The test fails here, and shows that there is no such transaction.
    ///         gateway.client().transaction(&"txn_1".parse()?).await?;
    ///         Ok(())
    ///     });
    ///     gateway.conclude(result)
    /// }
    /// # assert!(a_lost_void_is_looked_up().unwrap_err().to_string().contains("Transaction not found"));
    /// ```
    ///
    /// # Errors
    ///
    /// The test's own.
    ///
    /// # Panics
    ///
    /// If the result is `Ok` and an armed fault never fired.
    #[track_caller]
    #[allow(clippy::print_stderr, reason = "the output of a test, beside its own error")]
    pub fn conclude<T, E>(&self, result: Result<T, E>) -> Result<T, E> {
        if result.is_ok() {
            self.assert_all_faults_fired();
        }
        let unfired = self.service().faults.unfired();
        if let Some(message) = unfired {
            eprintln!("{message}");
        }
        self.disarm_all();
        result
    }

    /// Commits everything that a fault in [`Phase::Late`](crate::Phase::Late) held back, in the order in which it came;
    /// says how many.
    pub fn deliver_late(&self) -> usize {
        self.service().deliver_late()
    }

    /// Holds every request of the operation before it is processed; see [`Gate`].
    pub fn gate(&self, operation: OperationName) -> Gate {
        self.responder.gates().close(operation, Phase::BeforeCommit)
    }

    /// Holds the answer to every request of the operation after it was processed; see [`Gate`].
    pub fn gate_after_commit(&self, operation: OperationName) -> Gate {
        self.responder.gates().close(operation, Phase::AfterCommit)
    }

    /// What the service did so far.
    pub fn ledger(&self) -> Ledger {
        self.first_tenant().ledger()
    }

    /// The tokens that payments made so far, oldest first; the named ones of the test values are not among them.
    pub fn tokens(&self) -> Vec<StoredToken> {
        self.first_tenant().tokens()
    }

    /// Adds a customer that can be looked up, or replaces the one of the same id.
    ///
    /// # Panics
    ///
    /// If the record has no `CustomerId`.
    #[track_caller]
    pub fn add_customer(&self, customer: CustomerRecord) {
        self.first_tenant().add_customer(customer);
    }

    /// The newest requests, as they were received and without their secrets, newest last.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.requests_since(0)
    }

    /// Those of the [`requests`](Self::requests) whose [number](RecordedRequest::number) is above this one: what came
    /// since the last look.
    pub fn requests_since(&self, number: u64) -> Vec<RecordedRequest> {
        self.service().requests.since(number)
    }

    /// Forgets the requests that were received so far. The ledger stays.
    pub fn clear_requests(&self) {
        self.service().requests.clear();
    }

    /// The pure core: what the network would carry back for this request at this time of day.
    ///
    /// It neither waits nor looks at a clock. The path decides the operation; scheme and host are not looked at.
    pub fn handle(&self, now: SystemTime, request: Request<Bytes>) -> Reply {
        self.responder.handle(now, request)
    }

    /// Processes a request that a fault had [held](Reply::Held).
    pub fn resume(&self, now: SystemTime, request: HeldRequest) -> Reply {
        self.responder.resume(now, request)
    }

    /// The side of this gateway that a transport or a server needs.
    pub fn responder(&self) -> Responder {
        self.responder.clone()
    }

    /// A handle that does not count when the last one is dropped: for a server, which ends on a thread of its own.
    pub fn uncounted(&self) -> Self {
        Self { responder: self.responder(), _sentinel: None }
    }

    fn service(&self) -> MutexGuard<'_, Service> {
        self.responder.service()
    }
}

impl Default for FakeGateway {
    fn default() -> Self {
        Self::new()
    }
}

/// Fails the test at its end if an armed fault never fired.
#[derive(Debug)]
struct Sentinel(Responder);

impl Drop for Sentinel {
    fn drop(&mut self) {
        // A second panic would abort the process and hide the first.
        if std::thread::panicking() {
            return;
        }
        let unfired = self.0.service().faults.unfired();
        if let Some(message) = unfired {
            panic!(
                "{message}\nif the test was returning an error, it is not shown: see FakeGateway::conclude"
            );
        }
    }
}
