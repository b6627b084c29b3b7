use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::Request;
use payments_core::{ApiKey, Client, ClientBuilder, Endpoint, OperationName, blocking};

use crate::document::representable;
use crate::gateway_core::{GatewayCore, Processed};
use crate::randomness::SeededSource;
use crate::settings::Settings;
use crate::store::Store;
use crate::{
    ArmedFault, FakeGatewayBuilder, FakeTransport, Fault, FaultId, Fixtures, Gate, Ledger, ManualClock,
    Phase, RecordedRequest, Reply, StoredToken, Tenant,
};

/// The payment service as a state machine, for testing programs that take payments.
///
/// Gateways are independent of each other: no port, no runtime, no global state. Clones are handles to the same gateway.
/// See the [crate's documentation](crate) for its use.
///
/// # An armed fault that never fires fails the test
///
/// A fault that never fired tested nothing, and its test would pass for the wrong reason. So when the last `FakeGateway`
/// handle is dropped and an armed fault never fired, the drop panics and names the fault, unless the thread is already
/// panicking. Transports, clients and servers do not count as handles: they may end on other threads, where a panic is
/// lost. So keep a handle until the end of the test. [`assert_all_faults_fired`](Self::assert_all_faults_fired) checks
/// earlier, and a fault that is not needed after all can be [disarmed](Self::disarm).
///
/// A drop cannot see what the test returns. End a test that can return an `Err` with [`conclude`](Self::conclude), or this
/// panic hides its error.
#[derive(Clone)]
pub struct FakeGateway {
    core: Arc<GatewayCore>,
    /// Checks the faults when the last handle is dropped. `None` in a server's handle, and where unfired faults are ignored.
    _fault_check: Option<Arc<FaultCheck>>,
}

impl FakeGateway {
    /// The key that is accepted unless the builder sets another.
    pub const API_KEY: &'static str = "test_key_of_the_fake_gateway";

    /// An address for clients that use a [`FakeTransport`]. The domain `invalid` is reserved for names that do not exist,
    /// so a test that uses the network by mistake reaches no server.
    pub const BASE_URL: &'static str = "https://payments.invalid/api/v1/public";

    /// A gateway with an empty ledger, the seeded customer and the [test values](crate::test_values).
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Builds a gateway with other settings than [`new`](Self::new).
    pub fn builder() -> FakeGatewayBuilder {
        FakeGatewayBuilder::new()
    }

    pub(crate) fn with_settings(settings: Settings) -> Self {
        let checks_faults = !settings.ignores_unfired_faults;
        let core = Arc::new(GatewayCore::new(settings));
        let fault_check = checks_faults.then(|| Arc::new(FaultCheck(Arc::clone(&core))));
        Self { core, _fault_check: fault_check }
    }

    /// A client of this gateway, with its [endpoint](Self::endpoint), its [transport](Self::transport) and its
    /// [clock](Self::clock).
    pub fn client(&self) -> Client {
        self.client_builder().build()
    }

    /// The builder of [`client`](Self::client) and [`blocking_client`](Self::blocking_client), for other deadlines or an observer.
    pub fn client_builder(&self) -> ClientBuilder<FakeTransport, ManualClock> {
        Client::builder(self.endpoint(), self.transport(), self.clock().clone())
            .random_source(SeededSource::default())
    }

    /// A client for programs without an async runtime.
    pub fn blocking_client(&self) -> blocking::Client {
        self.client_builder().build_blocking()
    }

    /// A transport that carries requests to this gateway.
    pub fn transport(&self) -> FakeTransport {
        FakeTransport::new(Arc::clone(&self.core))
    }

    /// [`BASE_URL`](Self::BASE_URL) and the [key](Self::api_key).
    #[allow(clippy::missing_panics_doc, reason = "neither can fail: the builder checked the key")]
    pub fn endpoint(&self) -> Endpoint {
        let api_key = ApiKey::new(self.api_key()).expect("the builder checked the key");
        Endpoint::new(Self::BASE_URL, api_key).expect("a constant https address")
    }

    /// The key that this gateway accepts, or the first of several.
    pub fn api_key(&self) -> &str {
        &self.core.settings.tenants[0][0]
    }

    /// The tenant of a key, or `None` if the gateway does not accept the key.
    pub fn tenant(&self, api_key: &str) -> Option<Tenant> {
        let index = self.core.settings.tenant_with_key(api_key.as_bytes())?;
        Some(self.tenant_at(index))
    }

    /// Every tenant, in the order of the builder's keys.
    pub fn tenants(&self) -> impl Iterator<Item = Tenant> {
        (0..self.core.settings.tenants.len()).map(|index| self.tenant_at(index))
    }

    /// The tenant of the first key, and the only one unless the builder was given several keys.
    pub fn first_tenant(&self) -> Tenant {
        self.tenant_at(0)
    }

    fn tenant_at(&self, index: usize) -> Tenant {
        Tenant { core: Arc::clone(&self.core), index }
    }

    /// Adds the records of the fixtures to every tenant, except those whose ids it already has, and arms their faults.
    pub fn load(&self, fixtures: &Fixtures) {
        self.core.state().load(0..self.core.settings.tenants.len(), fixtures);
    }

    /// Removes everything: the records of every tenant, faults, recorded requests, and late effects that were not delivered.
    /// Keys, choices and gates stay. The sequence of identifiers continues, so new records have new identifiers. A request
    /// that a gate or a delay holds is closed without an effect when it goes on.
    pub fn reset(&self) {
        self.reset_to(&Fixtures::default());
    }

    /// A [`reset`](Self::reset) and a [`load`](Self::load) in one step: no request and no restart sees one without the
    /// other.
    pub fn reset_to(&self, fixtures: &Fixtures) {
        self.core.state().reset_to(fixtures);
    }

    /// The clock of this gateway's transports and clients.
    pub fn clock(&self) -> &ManualClock {
        &self.core.settings.clock
    }

    /// Plans a failure; see [`Fault`]. If several are due for a request, the one armed first fires.
    pub fn arm(&self, fault: Fault) -> FaultId {
        self.core.state().faults.arm(fault)
    }

    /// Removes a fault, fired or not. Returns whether it existed.
    pub fn disarm(&self, id: FaultId) -> bool {
        self.core.state().faults.disarm(id)
    }

    /// Removes every fault.
    pub fn disarm_all(&self) {
        self.core.state().faults.list.clear();
    }

    /// Every armed fault and how often it fired, in the order in which they were armed. Used-up faults are included.
    pub fn faults(&self) -> Vec<ArmedFault> {
        self.core.state().faults.list.clone()
    }

    /// Asserts that every armed fault fired at least once.
    ///
    /// # Panics
    ///
    /// If one never fired.
    #[track_caller]
    pub fn assert_all_faults_fired(&self) {
        if let Some(message) = self.core.state().faults.unfired() {
            panic!("{message}");
        }
    }

    /// Ends a test that uses `?`: returns its result, so that the test shows its own error.
    ///
    /// A test that ends early has often not reached its fault. With an `Err`, the faults that never fired are printed and
    /// all faults are disarmed, so that no drop panics because of them. With an `Ok`, a fault that never fired fails the
    /// test as usual.
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
    ///         // The test fails here and reports that there is no such transaction.
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
    /// The error that was passed in.
    ///
    /// # Panics
    ///
    /// If the result is `Ok` and an armed fault never fired.
    #[track_caller]
    #[allow(clippy::print_stderr, reason = "the output of a test, in addition to its own error")]
    pub fn conclude<T, E>(&self, result: Result<T, E>) -> Result<T, E> {
        if result.is_ok() {
            self.assert_all_faults_fired();
        }
        if let Some(message) = self.core.state().faults.unfired() {
            eprintln!("{message}");
        }
        self.disarm_all();
        result
    }

    /// Commits every effect that a fault in [`Phase::Late`](crate::Phase::Late) held back, in the order of the requests. The
    /// ledger dates them now. Returns how many there were.
    pub fn deliver_late(&self) -> usize {
        // Before the lock: a wall clock is the test's own code, and may read the gateway.
        let now = self.core.settings.now();
        self.core.state().deliver_late(now)
    }

    /// Holds every request of the operation before it is processed; see [`Gate`].
    pub fn gate(&self, operation: OperationName) -> Gate {
        self.core.gates().close(operation, Phase::BeforeCommit)
    }

    /// Holds the response to every request of the operation that was processed; see [`Gate`]. A request that is refused, lost
    /// before the commit or delivered late passes: its client has not been charged.
    pub fn gate_after_commit(&self, operation: OperationName) -> Gate {
        self.core.gates().close(operation, Phase::AfterCommit)
    }

    /// What the service did so far for all keys, those of the first key first. [`Tenant::ledger`] is that of one key.
    pub fn ledger(&self) -> Ledger {
        Ledger { entries: self.core.state().stores.iter().flat_map(Store::entries).collect() }
    }

    /// The tokens that payments or tests created so far for all keys, without the named tokens of the test values: those of the
    /// first key first, and of each the oldest first. [`Tenant::tokens`] are those of one key.
    pub fn tokens(&self) -> Vec<StoredToken> {
        self.core.state().stores.iter().flat_map(|store| store.tokens.values().cloned()).collect()
    }

    /// The newest requests without their secrets, newest last.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.core.state().requests.all()
    }

    /// Removes the requests that were recorded so far. The ledger stays.
    pub fn clear_requests(&self) {
        self.core.state().requests.clear();
    }

    /// The pure core: what the network would carry back for this request at this time of day.
    ///
    /// It neither waits nor reads a clock: what a delay before the commit would hold is processed at once, and its reply is
    /// [delayed](Reply::Delayed). The path decides the operation; scheme and host are ignored. A time before 1970 or after 9999 counts as
    /// the nearest one between.
    ///
    /// A request can ask for a fault: a [`Fault`] in its extensions fires for this request alone, whatever its operation,
    /// `skip` and `times` are, and only if no armed fault fires. Like an armed one, it does not fire `after_commit` or `late`
    /// if the service refuses the request.
    pub fn handle(&self, now: SystemTime, request: Request<Bytes>) -> Reply {
        let now = representable(now);
        let (reply, record) = match self.core.process(now, self.core.receive(request)) {
            Processed::NeverArrived => return Reply::Refused,
            Processed::Done(reply, record) => (reply, record),
            Processed::Held(by, held) => match self.core.process_held(now, held) {
                (Reply::Response(response), record) => (Reply::Delayed { by, response }, record),
                other => other,
            },
        };
        record.set_reply(&reply);
        reply
    }
}

/// For a server of the gateway in this project only: it may change in any version.
#[doc(hidden)]
impl FakeGateway {
    /// A handle that does not count for the check of unfired faults, for a server, which ends on its own thread.
    pub fn uncounted(&self) -> Self {
        Self { core: Arc::clone(&self.core), _fault_check: None }
    }

    /// Opens every gate, for a server that must end now.
    pub fn open_gates(&self) {
        self.core.gates().open_all();
    }

    /// What answers a server's requests.
    pub fn core(&self) -> Arc<GatewayCore> {
        Arc::clone(&self.core)
    }
}

impl fmt::Debug for FakeGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeGateway").field("clock", self.clock()).finish_non_exhaustive()
    }
}

impl Default for FakeGateway {
    fn default() -> Self {
        Self::new()
    }
}

/// Panics when it is dropped if an armed fault never fired.
struct FaultCheck(Arc<GatewayCore>);

impl Drop for FaultCheck {
    fn drop(&mut self) {
        // A second panic would abort the process and hide the first.
        if std::thread::panicking() {
            return;
        }
        if let Some(message) = self.0.state().faults.unfired() {
            panic!(
                "{message}\nif the test returned an error, this panic hides it: use FakeGateway::conclude"
            );
        }
    }
}
