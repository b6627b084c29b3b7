use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_ENCODING;
use http::{HeaderValue, StatusCode};
use payments_core::{
    Deadlines, Delivery, Timer, Transport, TransportError, TransportErrorKind, TransportRequest,
    TransportResponse,
};
use payments_fake::{FakeGateway, FakeTransport, ManualClock, RequestedFault};

use crate::stage::Stage;
use crate::trace::Event;
use crate::violation::Violation;
use crate::{Cause, Invariant, Moment, Sabotage, WireFault};

/// The network between a client and the fake service: it takes its time, and goes wrong where the call's plan says so.
///
/// What it reports is true: it claims that nothing was sent only where nothing was, and says that it does not know
/// wherever a byte has left. In one thing it may be rude: it may ignore its deadline.
#[derive(Clone)]
pub(crate) struct Wire {
    pub(crate) stage: Stage,
    pub(crate) clock: ManualClock,
    pub(crate) gateway: FakeGateway,
    pub(crate) transport: FakeTransport,
    pub(crate) sabotage: Option<Sabotage>,
}

type Carried = Result<TransportResponse, TransportError>;

impl Transport for Wire {
    async fn send(&self, request: TransportRequest) -> Carried {
        let sending = Sending::begin(&self.stage);
        let deadlines = request.deadlines();
        if deadlines.total().is_zero() {
            sending.report_no_time();
        }
        let work = self.carry(request, &sending);
        let is_rude =
            matches!(sending.fault, Some(WireFault::LateEvidence | WireFault::Deaf | WireFault::Mute));
        let result = if is_rude {
            work.await
        } else {
            let limit = self.clock.sleep(deadlines.total());
            before(limit, work)
                .await
                .unwrap_or_else(|| Err(TransportError::unknown(TransportErrorKind::Timeout)))
        };
        sending.end(&result);
        result
    }
}

impl Wire {
    async fn carry(&self, request: TransportRequest, sending: &Sending) -> Carried {
        use TransportErrorKind as Kind;
        let deadlines = request.deadlines();
        let unsent = |kind| Err(TransportError::not_processed(kind));
        let way_there = sending.request_latency.min(deadlines.connect());
        match sending.fault {
            Some(WireFault::ConnectStall) => {
                self.pause(deadlines.connect()).await;
                unsent(Kind::Timeout)
            }
            Some(fault) if fault.is_before_the_first_byte() => {
                self.pause(way_there).await;
                unsent(match fault {
                    WireFault::Unresolved => Kind::Resolve,
                    WireFault::Unreachable => Kind::Connect,
                    WireFault::TlsFailed => Kind::Tls,
                    WireFault::PoolDead => Kind::Closed,
                    _ => Kind::Cancelled,
                })
            }
            Some(WireFault::RequestLost) => {
                self.pause(sending.request_latency).await;
                Err(TransportError::unknown(sending.kind))
            }
            Some(WireFault::Mute) => pending().await,
            Some(WireFault::Deaf) => {
                self.set_adrift(request, sending, sending.request_latency);
                pending().await
            }
            Some(WireFault::Adrift) => self.set_adrift(request, sending, sending.by).arrived().await,
            fault => {
                self.pause(sending.request_latency).await;
                let cap = request.response_cap();
                // What the service's side knows when time is over is on its way back by then.
                let latencies = sending.request_latency + sending.response_latency;
                let left = deadlines.total().saturating_sub(latencies);
                let carried = self.hand_on(request, left, sending.call, sending.attempt).await;
                if is_unsent(&carried) {
                    return carried;
                }
                self.pause(sending.response_latency).await;
                match fault {
                    Some(WireFault::LateEvidence) => {
                        self.pause(sending.by).await;
                        carried
                    }
                    Some(fault) => self.spoil(fault, carried, sending, cap),
                    None => carried,
                }
            }
        }
    }

    /// Gives the request to the service, which learns of the fault that it is to have.
    async fn hand_on(&self, request: TransportRequest, left: Duration, call: usize, attempt: u32) -> Carried {
        let (operation, cap) = (request.operation(), request.response_cap());
        let deadlines = Deadlines::new(request.deadlines().connect(), left);
        let mut request = request.into_http();
        let fault = self.stage.state().passages[call].plan.requested_fault(attempt).cloned();
        let repeated = self.repeated(&request);
        let requested = fault.as_ref().map(|fault| Cause::Gateway(fault.kind().into(), fault.phase().into()));
        if let Some(fault) = fault {
            request.extensions_mut().insert(RequestedFault(fault));
        }
        let request = TransportRequest::new(request, operation, deadlines, cap);
        let mut carried = pin!(self.transport.send(request));
        let mut was_received = false;
        poll_fn(|context| {
            let held_before = self.stage.state().held();
            let polled = carried.as_mut().poll(context);
            let struck = self.struck();
            self.note_held(call, held_before);
            let is_received = self.note_received(call);
            if is_received && let Some(repeated) = &repeated {
                drop(self.gateway.handle(self.clock.wall(), repeated.clone()));
                self.gateway.clear_requests();
            }
            // A refused connection brings no request to the service, and a wire's claim of it comes from nowhere else.
            let is_refused = matches!(&polled, Poll::Ready(carried) if is_unsent(carried));
            if let Some(struck) = struck {
                self.stage.strike(call, struck);
            } else if (is_received || is_refused)
                && !was_received
                && let Some(requested) = requested
            {
                self.stage.strike(call, requested);
            }
            was_received |= is_received;
            polled
        })
        .await
    }

    /// The armed fault that struck since the last time.
    fn struck(&self) -> Option<Cause> {
        if self.stage.state().armed.is_empty() {
            return None;
        }
        let faults = self.gateway.faults();
        let mut state = self.stage.state();
        let mut struck = None;
        for (known, now) in state.armed.iter().zip(&faults) {
            if now.fired > known.fired {
                struck = Some(Cause::Gateway(now.fault.kind().into(), now.fault.phase().into()));
            }
        }
        state.armed = faults;
        struck
    }

    fn note_held(&self, call: usize, [before, after]: [usize; 2]) {
        let [now_before, now_after] = self.stage.state().held();
        let moment = match (now_before > before, now_after > after) {
            (true, _) => Moment::BeforeCommit,
            (false, true) => Moment::AfterCommit,
            (false, false) => return,
        };
        self.stage.note(call, Event::Held(moment), |passage| {
            passage.is_tangled |= passage.held.is_some_and(|held| held != moment);
            passage.held = Some(moment);
        });
    }

    /// Whether the service received a request since the last time.
    fn note_received(&self, call: usize) -> bool {
        let requests = self.gateway.requests();
        if requests.is_empty() {
            return false;
        }
        self.gateway.clear_requests();
        for request in &requests {
            self.stage.receive(call, request);
        }
        true
    }

    /// Sends the request on its way, which it goes on even if nobody waits any more.
    fn set_adrift(&self, request: TransportRequest, sending: &Sending, by: Duration) -> Parcel {
        let parcel = Parcel::default();
        let (wire, sent, call, attempt) = (self.clone(), parcel.clone(), sending.call, sending.attempt);
        let total = request.deadlines().total();
        let work = async move {
            wire.pause(by).await;
            sent.put(wire.hand_on(request, total, call, attempt).await);
        };
        self.stage.note(call, Event::SetAdrift(by), |_| {});
        self.stage.state().spawned.push((call, Box::pin(work)));
        parcel
    }

    /// What is left of the answer, if nothing else went wrong with it.
    fn spoil(&self, fault: WireFault, carried: Carried, sending: &Sending, cap: usize) -> Carried {
        if fault == WireFault::AnswerLost {
            return Err(TransportError::unknown(sending.kind));
        }
        // What the service itself spoilt is left as it is: whether a charge was made under it, its fault knows.
        if self.stage.state().passages[sending.call].struck.is_some() {
            return carried;
        }
        let mut answer = carried?.into_http();
        match fault {
            WireFault::AnswerCut => {
                let half = answer.body().len() / 2;
                answer.body_mut().truncate(half);
                return Err(TransportError::answered(TransportErrorKind::BodyTruncated, answer));
            }
            WireFault::Encoded => {
                answer.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            WireFault::Oversized => {
                let mut body = BytesMut::from(&answer.body()[..]);
                body.resize(cap + 1, b' ');
                *answer.body_mut() = Bytes::from(body);
            }
            WireFault::Recoded => rewrite(&mut answer, |body| {
                body.replace(r#""status_code":100"#, r#""status_code":101"#)
                    .replace(r#""status_code":200"#, r#""status_code":100"#)
            }),
            WireFault::Pending => rewrite(&mut answer, |body| {
                // The answers to look-ups have no `status`.
                if body.contains(r#""status":"#) {
                    return body.replace(r#""status":"success""#, r#""status":"pending""#);
                }
                body.replace(r#""status_code":"#, r#""status":"pending","status_code":"#)
            }),
            WireFault::Misfiled(status) => {
                *answer.status_mut() = StatusCode::from_u16(status).expect("the catalogue holds statuses");
            }
            _ => {}
        }
        Ok(answer.into())
    }

    /// The same request again, if that is the sabotage.
    fn repeated(&self, request: &http::Request<Bytes>) -> Option<http::Request<Bytes>> {
        let is_asked = self.sabotage == Some(Sabotage::RepeatsAtTheService);
        (is_asked && request.method() == http::Method::POST).then(|| request.clone())
    }

    async fn pause(&self, by: Duration) {
        if !by.is_zero() {
            self.clock.sleep(by).await;
        }
    }
}

/// One request in the hands of the wire. Dropped before its [`end`](Self::end), it tells that nobody waits any more.
struct Sending {
    stage: Stage,
    call: usize,
    attempt: u32,
    fault: Option<WireFault>,
    kind: TransportErrorKind,
    request_latency: Duration,
    response_latency: Duration,
    by: Duration,
    has_ended: bool,
}

impl Sending {
    fn begin(stage: &Stage) -> Self {
        let call = stage.state().current;
        let mut begun = None;
        stage.note(call, Event::Sending, |passage| {
            passage.sent += 1;
            passage.sending += 1;
            let plan = &passage.plan;
            begun = Some(Self {
                stage: stage.clone(),
                call,
                attempt: passage.sent,
                fault: plan.wire_fault(passage.sent),
                kind: plan.kind,
                request_latency: plan.request_latency,
                response_latency: plan.response_latency,
                by: plan.by,
                has_ended: false,
            });
        });
        begun.expect("a passage is changed at once")
    }

    /// No caller asks for no time at all, so all of it has passed.
    fn report_no_time(&self) {
        let mut state = self.stage.state();
        let intent = state.passages[self.call].intent;
        let what = "a request was sent for a call whose deadline had passed";
        state.report(Violation::new(Invariant::EndsInTime, intent, what));
    }

    fn end(mut self, result: &Carried) {
        self.has_ended = true;
        let event = match result {
            Ok(answer) => Event::Reported { what: "an answer", status: answer.status().as_u16() },
            Err(error) => {
                let (what, status) = match error.delivery() {
                    Delivery::NotProcessed => ("nothing was sent", 0),
                    Delivery::Unknown => ("it may have been sent", 0),
                    Delivery::Answered(status) => ("half an answer", status.as_u16()),
                };
                Event::Reported { what, status }
            }
        };
        self.stage.note(self.call, event, |_| {});
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let mut state = self.stage.state();
        state.passages[self.call].sending -= 1;
        if !self.has_ended {
            let now = self.stage.now();
            state.trace.note(now, Some(self.call), Event::TransportDropped);
        }
    }
}

/// Where the answer to a request that was set adrift arrives, if it does.
#[derive(Clone, Default)]
struct Parcel(Arc<Mutex<(Option<Carried>, Option<Waker>)>>);

impl Parcel {
    fn put(&self, carried: Carried) {
        let mut inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inside.0 = Some(carried);
        let waker = inside.1.take();
        drop(inside);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn arrived(self) -> Carried {
        poll_fn(|context| {
            let mut inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(carried) = inside.0.take() {
                return Poll::Ready(carried);
            }
            inside.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

fn rewrite(answer: &mut http::Response<Bytes>, change: impl FnOnce(&str) -> String) {
    let body = std::str::from_utf8(answer.body()).expect("the fake's own answers are JSON");
    *answer.body_mut() = change(body).into();
}

fn is_unsent(carried: &Carried) -> bool {
    matches!(carried, Err(error) if error.delivery() == Delivery::NotProcessed)
}

/// The work's result, or nothing if the limit ends first.
async fn before<T>(limit: impl Future<Output = ()>, work: impl Future<Output = T>) -> Option<T> {
    let mut limit = pin!(limit);
    let mut work = pin!(work);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending => limit.as_mut().poll(context).map(|()| None),
    })
    .await
}
