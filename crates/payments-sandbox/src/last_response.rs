use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use payments_fake::Reply;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::site::{Answered, Site};
use crate::socket::{Socket, State};

/// The response to the newest request to the service on one connection, until it is known whether the client got it.
pub(crate) struct LastResponse {
    site: Arc<Site>,
    socket: Socket,
    newest: Mutex<Option<Newest>>,
}

struct Newest {
    answered: Answered,
    /// Whether it was reported as given to the client, before it was written.
    is_reported: bool,
}

impl LastResponse {
    pub(crate) fn new(site: Arc<Site>, socket: Socket) -> Self {
        Self { site, socket, newest: Mutex::default() }
    }

    /// Called before hyper gets a complete response to write.
    pub(crate) async fn begin(&self, mut answered: Answered) {
        // Whether a client that has closed its side can still read is known only after the response is written.
        let is_reported = self.socket.departure().now_or_never().is_none();
        if is_reported {
            self.site.report(&mut answered, None);
        }
        *self.newest.lock().await = Some(Newest { answered, is_reported });
        self.socket.set_state(State::Responding);
    }

    /// Called before a symptom is written, which is reported only when it is known what the client saw of it.
    pub(crate) async fn begin_symptom(&self, answered: Answered) {
        *self.newest.lock().await = Some(Newest { answered, is_reported: false });
    }

    /// Reports what the client saw of a symptom.
    pub(crate) async fn report_seen(&self, seen: &Reply) {
        if let Some(mut newest) = self.newest.lock().await.take() {
            self.site.report(&mut newest.answered, Some(seen));
        }
    }

    /// Reports the response: as lost if it was not completely written, or if its client had closed its side of the connection
    /// before and then refused it. Whether any other client reads what was written cannot be known.
    pub(crate) async fn report(&self) {
        let Some(Newest { mut answered, is_reported }) = self.newest.lock().await.take() else { return };
        if !is_reported {
            sleep(TIME_TO_REFUSE).await;
        }
        let is_lost = self.socket.has_unwritten() || (!is_reported && self.socket.is_broken());
        if is_lost || !is_reported {
            self.site.report(&mut answered, is_lost.then_some(&Reply::Closed));
        }
    }
}

/// How long the system of a client that has left has to refuse a response, chosen by this SDK.
const TIME_TO_REFUSE: Duration = Duration::from_millis(50);
