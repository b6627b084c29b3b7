use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use http::Request;
use payments_core::{OperationName, Timer};

use crate::fault::Phase;
use crate::service::{HeldRequest, Service, operation_of};
use crate::{ChangeLog, ManualClock, NotDurable, Reply};

/// The side of a [`FakeGateway`](crate::FakeGateway) that transports and servers hold.
///
/// It answers requests and knows nothing of tests: it does not keep the gateway's check for unfired faults waiting.
#[derive(Clone)]
pub struct Responder(Arc<Shared>);

struct Shared {
    service: Mutex<Service>,
    clock: ManualClock,
    wall_clock: Option<WallClock>,
    change_log: Option<Arc<dyn ChangeLog>>,
}

/// Tells the time of day.
pub(crate) type WallClock = Box<dyn Fn() -> SystemTime + Send + Sync>;

impl Responder {
    pub(crate) fn new(
        service: Service,
        clock: ManualClock,
        wall_clock: Option<WallClock>,
        change_log: Option<Arc<dyn ChangeLog>>,
    ) -> Self {
        Self(Arc::new(Shared { service: Mutex::new(service), clock, wall_clock, change_log }))
    }

    /// What the network would carry back for this request at this time of day. It neither waits nor looks at a clock.
    pub fn handle(&self, now: SystemTime, request: Request<Bytes>) -> Reply {
        self.service().handle(now, request)
    }

    /// Processes a request that a fault had [held](Reply::Held).
    pub fn resume(&self, now: SystemTime, request: HeldRequest) -> Reply {
        self.service().resume(now, request)
    }

    /// [`handle`](Self::handle) as a server does it: at the gateway's time of day, waiting at its
    /// [gates](crate::Gate), and by `timer` for held requests. The reply is never [`Reply::Held`].
    ///
    /// With a [`ChangeLog`] the reply waits until everything that it can speak of is durable. If that fails, the connection
    /// is [closed](Reply::Closed): nobody is told of a payment that the next start would not know.
    ///
    /// Dropping the future is a client that went away: what was not committed by then never is.
    pub async fn respond(&self, request: Request<Bytes>, timer: &dyn Timer) -> Reply {
        let operation = operation_of(&request);
        self.pass_gate(operation, Phase::BeforeCommit).await;
        let reply = match self.handle(self.wall(), request) {
            Reply::Held { by, request } => {
                timer.sleep(by).await;
                self.resume(self.wall(), request)
            }
            reply => reply,
        };
        let reply = if self.flushed().await.is_ok() { reply } else { Reply::Closed };
        self.pass_gate(operation, Phase::AfterCommit).await;
        reply
    }

    /// Waits until every change so far is durable; at once if the gateway has no [`ChangeLog`].
    ///
    /// # Errors
    ///
    /// If one could not be made durable.
    pub async fn flushed(&self) -> Result<(), NotDurable> {
        match &self.0.change_log {
            Some(log) => log.flushed().await,
            None => Ok(()),
        }
    }

    /// The gateway's own clock.
    pub fn clock(&self) -> &ManualClock {
        &self.0.clock
    }

    /// A panic elsewhere, such as a failed assertion of the test, must not hide behind a poisoned lock.
    pub(crate) fn service(&self) -> MutexGuard<'_, Service> {
        self.0.service.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pass_gate(&self, operation: Option<OperationName>, phase: Phase) {
        let latch = operation.and_then(|operation| self.service().gates.closed(operation, phase));
        if let Some(latch) = latch {
            latch.hold(&self.0.clock).await;
        }
    }

    fn wall(&self) -> SystemTime {
        self.0.wall_clock.as_ref().map_or_else(|| self.0.clock.wall(), |now| now())
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { service: _, clock, wall_clock: _, change_log: _ } = &*self.0;
        f.debug_struct("Responder").field("clock", clock).finish_non_exhaustive()
    }
}
