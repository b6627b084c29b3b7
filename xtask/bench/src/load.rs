//! A load generator that is much cheaper than any server: finished bytes out, as little as possible read of what comes
//! in, one request at a time on each connection, one thread.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::{self, Runtime};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, timeout};

use crate::answer::Head;
use crate::server::Server;

/// The one client of a benchmark, for every server that it compares.
#[derive(Debug)]
pub(crate) struct Client(Runtime);

/// What to send, and when to stop.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) connections: usize,
    /// Whole requests, sent in turn, from the first again after the last.
    pub(crate) requests: Rc<[Bytes]>,
    /// No request begins later than this after the first.
    pub(crate) time: Duration,
    /// No more requests than this.
    pub(crate) count: u32,
    /// What to keep of the body of an answer, if anything.
    pub(crate) keep: Option<Keep>,
}

/// Takes out of the body of an answer what its sender wants to know.
pub(crate) type Keep = fn(&[u8]) -> Option<String>;

/// What came back; every answer was HTTP 200.
#[derive(Debug)]
pub(crate) struct Burst {
    pub(crate) answers: u32,
    /// From the first request to the last answer; that connections are made is no part of it.
    pub(crate) time: Duration,
    pub(crate) kept: Vec<String>,
}

impl Burst {
    /// Answers per second.
    pub(crate) fn rate(&self) -> f64 {
        f64::from(self.answers) / self.time.as_secs_f64()
    }
}

impl Client {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self(runtime::Builder::new_current_thread().enable_all().build()?))
    }

    pub(crate) fn run(&self, server: &Server, load: &Load) -> anyhow::Result<Burst> {
        let patience = load.time + LONGEST_ANSWER;
        let burst = async { timeout(patience, LocalSet::new().run_until(burst(server, load.clone()))).await };
        self.0.block_on(burst).with_context(|| format!("{server} did not answer within {patience:?}"))?
    }
}

/// A server that takes longer than this for one answer hangs.
const LONGEST_ANSWER: Duration = Duration::from_secs(20);

async fn burst(server: &Server, load: Load) -> anyhow::Result<Burst> {
    let mut sockets = Vec::new();
    for _ in 0..load.connections {
        let socket = TcpStream::connect(server.address()).await.with_context(|| format!("{server}"))?;
        socket.set_nodelay(true)?;
        sockets.push(socket);
    }
    let started = Instant::now();
    let until = started + load.time;
    let progress = Rc::new(Progress {
        load,
        until,
        begun: Cell::default(),
        answers: Cell::default(),
        kept: RefCell::default(),
    });
    let mut connections = JoinSet::new();
    for socket in sockets {
        connections.spawn_local(exchange(socket, Rc::clone(&progress)));
    }
    while let Some(ended) = connections.join_next().await {
        ended.context("a connection of the load generator panicked")?.with_context(|| format!("{server}"))?;
    }
    Ok(Burst { answers: progress.answers.get(), time: started.elapsed(), kept: progress.kept.take() })
}

/// What the connections of a burst share.
struct Progress {
    load: Load,
    until: Instant,
    begun: Cell<u32>,
    answers: Cell<u32>,
    kept: RefCell<Vec<String>>,
}

impl Progress {
    /// The next request to send, unless it is enough.
    fn next(&self) -> Option<&Bytes> {
        let begun = self.begun.get();
        if begun >= self.load.count || Instant::now() >= self.until {
            return None;
        }
        self.begun.set(begun + 1);
        Some(&self.load.requests[begun as usize % self.load.requests.len()])
    }
}

async fn exchange(mut socket: TcpStream, progress: Rc<Progress>) -> anyhow::Result<()> {
    let mut received = Vec::with_capacity(16 * 1024);
    while let Some(request) = progress.next() {
        socket.write_all(request).await?;
        received.clear();
        let head = loop {
            if socket.read_buf(&mut received).await? == 0 {
                bail!("the connection ended in the middle of an exchange");
            }
            if let Some(head) = Head::read(&received)?.filter(|head| received.len() >= head.end()) {
                break head;
            }
        };
        let body = &received[head.length..head.end()];
        if head.status != 200 {
            bail!("HTTP {} instead of 200: {}", head.status, String::from_utf8_lossy(body));
        }
        progress.answers.set(progress.answers.get() + 1);
        progress.kept.borrow_mut().extend(progress.load.keep.and_then(|keep| keep(body)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_answers_per_second() {
        let burst = Burst { answers: 50, time: Duration::from_millis(250), kept: Vec::new() };
        assert!((burst.rate() - 200.0).abs() < 1e-9);
    }
}
