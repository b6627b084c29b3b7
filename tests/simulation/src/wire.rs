use std::future::{pending, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_channel::oneshot;
use http::header::CONTENT_ENCODING;
use http::{HeaderValue, StatusCode};
use payments_core::transport::before;
use payments_core::{
    Deadlines, Delivery, Timer, Transport, TransportError, TransportErrorKind, TransportRequest,
    TransportResponse,
};
use payments_fake::{FakeGateway, FakeTransport, ManualClock, Phase};

use crate::plan::Plan;
use crate::shared::Shared;
use crate::trace::Event;
use crate::violation::Violation;
use crate::{Cause, Invariant, WireFault};

/// The network between a client and the fake service. It adds latency and the wire fault of the call's plan.
///
/// Its reports are true: it reports `NotProcessed` only if nothing was sent, and `Unknown` once a byte has left. It may ignore
/// its deadline.
#[derive(Clone)]
pub(crate) struct Wire {
    pub(crate) shared: Shared,
    pub(crate) clock: ManualClock,
    pub(crate) gateway: FakeGateway,
    pub(crate) transport: FakeTransport,
}

type SendResult = Result<TransportResponse, TransportError>;

impl Transport for Wire {
    async fn send(&self, request: TransportRequest) -> SendResult {
        let sending = Sending::begin(&self.shared);
        let deadlines = request.deadlines();
        if deadlines.total().is_zero() {
            sending.report_zero_deadline();
        }
        let work = self.send_with_fault(request, &sending);
        let ignores_deadline = matches!(
            sending.fault(),
            Some(WireFault::ReportsLate | WireFault::HangsAfterSending | WireFault::HangsBeforeSending)
        );
        let result = if ignores_deadline {
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
    async fn send_with_fault(&self, request: TransportRequest, sending: &Sending) -> SendResult {
        let deadlines = request.deadlines();
        if let Some(kind) = sending.fault().and_then(WireFault::unsent) {
            let is_timeout = kind == TransportErrorKind::Timeout;
            let latency = if is_timeout { Duration::MAX } else { sending.plan.request_latency };
            self.pause(latency.min(deadlines.connect())).await;
            let error = TransportError::not_processed(kind);
            // An invalid certificate, for example.
            return Err(if kind == TransportErrorKind::Tls { error.permanent() } else { error });
        }
        match sending.fault() {
            Some(WireFault::RequestLost) => {
                self.pause(sending.plan.request_latency).await;
                Err(TransportError::unknown(sending.plan.kind))
            }
            Some(WireFault::HangsBeforeSending) => pending().await,
            Some(WireFault::HangsAfterSending) => {
                drop(self.deliver_later(request, sending, sending.plan.request_latency));
                pending().await
            }
            Some(WireFault::DeliveredLater) => {
                let result = self.deliver_later(request, sending, sending.plan.delay).await;
                result.expect("a delivery ends")
            }
            fault => {
                self.pause(sending.plan.request_latency).await;
                let cap = request.response_cap();
                // A reply that the service has at the deadline must already be on its way back.
                let latencies = sending.plan.request_latency + sending.plan.response_latency;
                let left = deadlines.total().saturating_sub(latencies);
                let result = self.forward(request, left, sending.call, sending.attempt).await;
                if is_unsent(&result) {
                    return result;
                }
                self.pause(sending.plan.response_latency).await;
                match fault {
                    Some(WireFault::ReportsLate) => {
                        self.pause(sending.plan.delay).await;
                        result
                    }
                    Some(fault) => self.damage(fault, result, sending, cap),
                    None => result,
                }
            }
        }
    }

    /// Sends the request to the service, with the fault that the plan requests.
    async fn forward(
        &self,
        request: TransportRequest,
        left: Duration,
        call: usize,
        attempt: u32,
    ) -> SendResult {
        let (operation, cap) = (request.operation(), request.response_cap());
        let deadlines = Deadlines::new(request.deadlines().connect(), left);
        let mut request = request.into_http();
        let fault = self.shared.state().records[call].plan.requested_fault(attempt).cloned();
        let repeated = self.repeated(&request);
        let requested = fault.as_ref().map(|fault| Cause::Gateway(fault.kind().into(), fault.phase()));
        if let Some(fault) = fault {
            request.extensions_mut().insert(fault);
        }
        let request = TransportRequest::new(request, operation, deadlines, cap);
        let mut result = pin!(self.transport.send(request));
        let mut was_received = false;
        poll_fn(|context| {
            let held_before = self.shared.state().held();
            let polled = result.as_mut().poll(context);
            let fired = self.fired();
            self.note_held(call, held_before);
            let (is_received, is_faulty) = self.note_received(call);
            if is_received && let Some(repeated) = &repeated {
                drop(self.gateway.handle(self.clock.system_time(), repeated.clone()));
                self.gateway.clear_requests();
            }
            // A refused connection brings no request to the service, and only such a fault reports `NotProcessed` here.
            let is_refused = matches!(&polled, Poll::Ready(result) if is_unsent(result));
            if let Some(fired) = fired {
                self.shared.note_fault(call, fired);
            } else if (is_faulty || is_refused)
                && !was_received
                && let Some(requested) = requested
            {
                self.shared.note_fault(call, requested);
            }
            was_received |= is_received;
            polled
        })
        .await
    }

    /// The armed fault that fired since the last call.
    fn fired(&self) -> Option<Cause> {
        if self.shared.state().armed.is_empty() {
            return None;
        }
        let faults = self.gateway.faults();
        let mut state = self.shared.state();
        let mut fired = None;
        for (known, now) in state.armed.iter().zip(&faults) {
            if now.fired > known.fired {
                fired = Some(Cause::Gateway(now.fault.kind().into(), now.fault.phase()));
            }
        }
        state.armed = faults;
        fired
    }

    fn note_held(&self, call: usize, [before, after]: [usize; 2]) {
        let [now_before, now_after] = self.shared.state().held();
        let moment = match (now_before > before, now_after > after) {
            (true, _) => Phase::BeforeCommit,
            (false, true) => Phase::AfterCommit,
            (false, false) => return,
        };
        self.shared.note(call, Event::Held(moment), |record| {
            record.has_several_causes |= record.held.is_some_and(|held| held != moment);
            record.held = Some(moment);
        });
    }

    /// Notes the requests that the service received since the last call. Returns whether there were any, and whether a
    /// fault fired for one.
    fn note_received(&self, call: usize) -> (bool, bool) {
        let requests = self.gateway.requests();
        if requests.is_empty() {
            return (false, false);
        }
        self.gateway.clear_requests();
        for request in &requests {
            self.shared.receive(call, request);
        }
        (true, requests.iter().any(|request| request.fault.is_some()))
    }

    /// Delivers the request after a delay, even if the caller has gone by then.
    fn deliver_later(
        &self,
        request: TransportRequest,
        sending: &Sending,
        by: Duration,
    ) -> oneshot::Receiver<SendResult> {
        let (sender, receiver) = oneshot::channel();
        let (wire, call, attempt) = (self.clone(), sending.call, sending.attempt);
        let total = request.deadlines().total();
        let work = async move {
            wire.pause(by).await;
            // The caller may have gone.
            drop(sender.send(wire.forward(request, total, call, attempt).await));
        };
        self.shared.note(call, Event::DeliveryDelayed(by), |_| {});
        self.shared.state().spawned.push((call, Box::pin(work)));
        receiver
    }

    /// Applies a fault to the response, unless the service's own fault has already changed it.
    fn damage(&self, fault: WireFault, result: SendResult, sending: &Sending, cap: usize) -> SendResult {
        if fault == WireFault::ResponseLost {
            return Err(TransportError::unknown(sending.plan.kind));
        }
        // A response that the service's own fault changed stays unchanged, because that fault decides the allowed endings.
        if self.shared.state().records[sending.call].fired.is_some() {
            return result;
        }
        let mut response = result?.into_http();
        match fault {
            WireFault::ResponseCut => {
                let half = response.body().len() / 2;
                response.body_mut().truncate(half);
                return Err(TransportError::answered(TransportErrorKind::BodyTruncated, response));
            }
            WireFault::Encoded => {
                response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            WireFault::Oversized => {
                let mut body = BytesMut::from(&response.body()[..]);
                body.resize(cap + 1, b' ');
                *response.body_mut() = Bytes::from(body);
            }
            WireFault::OtherStatusCode => rewrite(&mut response, |body| {
                body.replace(r#""status_code":100"#, r#""status_code":101"#)
                    .replace(r#""status_code":200"#, r#""status_code":100"#)
            }),
            WireFault::Pending => rewrite(&mut response, |body| {
                // The responses to lookups have no `status`.
                if body.contains(r#""status":"#) {
                    return body.replace(r#""status":"success""#, r#""status":"pending""#);
                }
                body.replace(r#""status_code":"#, r#""status":"pending","status_code":"#)
            }),
            WireFault::OtherHttpStatus(status) => {
                *response.status_mut() = StatusCode::from_u16(status).expect("the catalogue holds statuses");
            }
            _ => {}
        }
        Ok(response.into())
    }

    /// A copy of the request, if the sabotage is to repeat it.
    fn repeated(&self, request: &http::Request<Bytes>) -> Option<http::Request<Bytes>> {
        let repeats = self.shared.breaks(Invariant::ChargedAtMostOnce);
        (repeats && request.method() == http::Method::POST).then(|| request.clone())
    }

    async fn pause(&self, by: Duration) {
        if !by.is_zero() {
            self.clock.sleep(by).await;
        }
    }
}

/// One request that the wire is sending. If it is dropped before [`end`](Self::end), the caller no longer waits.
struct Sending {
    shared: Shared,
    call: usize,
    attempt: u32,
    plan: Plan,
    has_ended: bool,
}

impl Sending {
    fn begin(shared: &Shared) -> Self {
        let call = shared.state().current;
        shared.note(call, Event::Sending, |record| {
            record.sent += 1;
            record.sending += 1;
        });
        let (attempt, plan) = {
            let state = shared.state();
            (state.records[call].sent, state.records[call].plan.clone())
        };
        Self { shared: shared.clone(), call, attempt, plan, has_ended: false }
    }

    fn fault(&self) -> Option<WireFault> {
        self.plan.wire_fault(self.attempt)
    }

    fn report_zero_deadline(&self) {
        let mut state = self.shared.state();
        let intent = state.records[self.call].intent;
        let what = "a request was sent for a call whose deadline had passed";
        state.report(Violation::new(Invariant::EndsInTime, intent, what));
    }

    fn end(mut self, result: &SendResult) {
        self.has_ended = true;
        let event = match result {
            Ok(response) => Event::Reported { what: "a response", status: response.status().as_u16() },
            Err(error) => {
                let (what, status) = match error.delivery() {
                    Delivery::NotProcessed => ("nothing was sent", 0),
                    Delivery::Unknown => ("it may have been sent", 0),
                    Delivery::Answered(status) => ("a partial response", status.as_u16()),
                };
                Event::Reported { what, status }
            }
        };
        self.shared.note(self.call, event, |_| {});
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.records[self.call].sending -= 1;
        if !self.has_ended {
            let now = self.shared.now();
            state.trace.note(now, Some(self.call), Event::TransportDropped);
        }
    }
}

fn rewrite(response: &mut http::Response<Bytes>, change: impl FnOnce(&str) -> String) {
    let body = std::str::from_utf8(response.body()).expect("the fake's own responses are JSON");
    *response.body_mut() = change(body).into();
}

fn is_unsent(result: &SendResult) -> bool {
    matches!(result, Err(error) if error.delivery() == Delivery::NotProcessed)
}
