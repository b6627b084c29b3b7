//! A server that answers with fixed bytes and reads no more of a request than where it ends: so much cheaper than any client
//! that the client is what is measured.
//!
//! `GET /hold` and `GET /release` are for whoever measures: what is asked between the two is answered at the second, so that as
//! many calls as there are callers are under way at once, however fast a machine is.
//!
//! On one machine it is the writing side that wakes a reader which sleeps, and that takes longer than the rest of a write. A
//! client that writes its requests in bursts does so less often than one that writes each as soon as it can, which between
//! machines makes no difference. A server that stays awake costs all clients the same.

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpSocket;
use tokio::runtime;
use tokio::sync::Notify;
use tokio::task::{LocalSet, spawn_local, yield_now};

/// Serves until the process is killed, on one thread. One that stays awake needs a processor of its own.
pub(crate) fn run(stays_awake: bool) -> anyhow::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let set = LocalSet::new();
    if stays_awake {
        set.spawn_local(stay_awake());
    }
    set.block_on(&runtime, serve())
}

/// A runtime that always has something to do looks for what has arrived, and never waits for it.
async fn stay_awake() {
    loop {
        yield_now().await;
    }
}

async fn serve() -> anyhow::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let listener = socket.listen(MOST_WAITING)?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, r#"{{"base_url":"http://{}/","api_key":"none"}}"#, listener.local_addr()?)?;
    stdout.flush()?;
    let answers = Rc::new(Answers::new());
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let answers = Rc::clone(&answers);
        // However a connection ends: it was the client's to end.
        spawn_local(async move { drop(converse(socket, &answers).await) });
    }
}

/// Thousands of clients connect at once. The system takes no more than its own limit.
const MOST_WAITING: u32 = 8 * 1024;

/// What everybody is answered, and when.
pub(crate) struct Answers {
    charged: Vec<u8>,
    found: Vec<u8>,
    gate: Gate,
}

impl Answers {
    pub(crate) fn new() -> Self {
        Self { charged: answer("100"), found: answer("200"), gate: Gate::default() }
    }

    async fn to(&self, request: &[u8]) -> &[u8] {
        if request.starts_with(b"GET /hold ") {
            self.gate.close();
        } else if request.starts_with(b"GET /release ") {
            self.gate.open();
        } else {
            self.gate.pass().await;
        }
        if request.starts_with(b"POST") { &self.charged } else { &self.found }
    }
}

/// What answers wait at.
#[derive(Default)]
struct Gate {
    is_closed: AtomicBool,
    opened: Notify,
}

impl Gate {
    fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    fn open(&self) {
        self.is_closed.store(false, Ordering::SeqCst);
        self.opened.notify_waiters();
    }

    async fn pass(&self) {
        loop {
            // Made before the look, or an opening between the two would be missed.
            let opened = self.opened.notified();
            if !self.is_closed.load(Ordering::SeqCst) {
                return;
            }
            opened.await;
        }
    }
}

/// Answers the requests of one connection until the client ends it.
pub(crate) async fn converse(
    mut socket: impl AsyncRead + AsyncWrite + Unpin,
    answers: &Answers,
) -> anyhow::Result<()> {
    let mut buffer = vec![0; LARGEST_REQUEST];
    let mut filled = 0;
    loop {
        let read = socket.read(&mut buffer[filled..]).await?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        if length(&buffer[..filled])?.is_some_and(|length| length <= filled) {
            let answer = answers.to(&buffer).await;
            // At once, so that a client reads it at once.
            socket.write_all(answer).await?;
            filled = 0;
        }
    }
}

/// How long the request is, once its head is there. These clients send one at a time.
fn length(bytes: &[u8]) -> anyhow::Result<Option<usize>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = request.parse(bytes).context("this is no HTTP request")? else {
        return Ok(None);
    };
    let body = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let body: usize = match body {
        Some(length) => std::str::from_utf8(length.value)?.parse().context("Content-Length")?,
        None => 0,
    };
    Ok(Some(head + body))
}

fn answer(status_code: &str) -> Vec<u8> {
    let body = crate::bare_server::ANSWER.replacen(
        r#""status_code":100"#,
        &format!(r#""status_code":{status_code}"#),
        1,
    );
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ndate: Sun, 22 Nov 2026 02:19:17 GMT";
    format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

const LARGEST_REQUEST: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn what_is_asked_while_answers_are_held_is_answered_once_they_are_released() {
        let gate = Gate::default();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(pin!(gate.pass()).poll(&mut cx).is_ready());
        gate.close();
        let mut held = pin!(gate.pass());
        assert!(held.as_mut().poll(&mut cx).is_pending());
        gate.open();
        assert!(held.as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn a_request_ends_where_its_body_does() {
        let request = b"POST /x HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(length(request).unwrap(), Some(request.len()));
        assert_eq!(length(&request[..20]).unwrap(), None);
        assert_eq!(length(b"GET /x HTTP/1.1\r\n\r\n").unwrap(), Some(19));
    }
}
