//! A load generator that is much cheaper than any server: it sends prepared bytes, parses as little as possible of each response,
//! has one request at a time on each connection, and uses one thread.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::task::{JoinSet, LocalSet};
use xtask::Server;

/// What to send, and when to stop.
pub(crate) struct Load {
    pub(crate) connections: usize,
    /// Complete requests, sent in turn and repeated.
    pub(crate) requests: Vec<Vec<u8>>,
    /// How long to start new requests.
    pub(crate) time: Duration,
    /// The maximum number of requests.
    pub(crate) count: u32,
}

/// The responses of a load. All had HTTP 200.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    /// Responses per second.
    pub(crate) rate: f64,
    pub(crate) transaction_ids: Vec<String>,
}

impl Load {
    pub(crate) fn run(self, server: &Server) -> anyhow::Result<Burst> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, async {
            let mut sockets = Vec::new();
            for _ in 0..self.connections {
                let socket = TcpStream::connect(server.address).await?;
                socket.set_nodelay(true)?;
                sockets.push(socket);
            }
            let started = Instant::now();
            let progress = Rc::new(Progress {
                until: started + self.time,
                load: self,
                begun: Cell::default(),
                transaction_ids: RefCell::default(),
            });
            let mut connections = JoinSet::new();
            for socket in sockets {
                connections.spawn_local(exchange(socket, Rc::clone(&progress)));
            }
            while let Some(ended) = connections.join_next().await {
                ended??;
            }
            let responses = progress.begun.get();
            ensure!(responses > 0, "no request got a response");
            Ok(Burst {
                rate: f64::from(responses) / started.elapsed().as_secs_f64(),
                transaction_ids: progress.transaction_ids.take(),
            })
        })
    }
}

/// What the connections of a burst share.
struct Progress {
    load: Load,
    until: Instant,
    begun: Cell<u32>,
    transaction_ids: RefCell<Vec<String>>,
}

impl Progress {
    /// The next request to send, unless the load is complete.
    fn next(&self) -> Option<&[u8]> {
        let begun = self.begun.get();
        let is_over = begun >= self.load.count || Instant::now() >= self.until;
        (!is_over).then(|| {
            self.begun.set(begun + 1);
            self.load.requests[begun as usize % self.load.requests.len()].as_slice()
        })
    }
}

async fn exchange(mut socket: TcpStream, progress: Rc<Progress>) -> anyhow::Result<()> {
    // Reading the ids costs more than everything else here, so it is done only to fill a store.
    let wants_ids = progress.load.count < u32::MAX;
    let mut received = Vec::with_capacity(16 * 1024);
    while let Some(request) = progress.next() {
        socket.write_all(request).await?;
        received.clear();
        let body = loop {
            ensure!(
                socket.read_buf(&mut received).await? > 0,
                "the server closed in the middle of an exchange"
            );
            if let Some(body) = body(&received)? {
                break body;
            }
        };
        if wants_ids {
            let response: Value = serde_json::from_slice(body)?;
            let id = response["data"]["TransactionId"].as_str().context("no TransactionId in a response")?;
            progress.transaction_ids.borrow_mut().push(id.to_owned());
        }
    }
    Ok(())
}

/// The body of a response, once it is complete.
fn body(received: &[u8]) -> anyhow::Result<Option<&[u8]>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response.parse(received)? else { return Ok(None) };
    if response.code != Some(200) {
        bail!("HTTP {:?} instead of 200: {}", response.code, String::from_utf8_lossy(received));
    }
    let length = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let length = length.context("a response without a Content-Length")?;
    let length: usize = std::str::from_utf8(length.value)?.parse()?;
    Ok(received.get(head..head + length))
}

#[cfg(test)]
mod tests {
    use super::body;

    #[test]
    fn a_partial_response_has_no_body_yet() {
        let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        assert_eq!(body(response).unwrap(), Some(b"ok".as_slice()));
        for end in 0..response.len() {
            assert_eq!(body(&response[..end]).unwrap(), None, "{end}");
        }
    }

    #[test]
    fn an_unreadable_response_is_an_error() {
        for response in ["SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 500 Oh\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
            assert!(body(response.as_bytes()).is_err(), "{response}");
        }
    }
}
