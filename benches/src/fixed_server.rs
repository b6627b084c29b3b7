//! A server that answers with fixed bytes and reads no more of a request than where it ends: so much cheaper than any client
//! that the client is what is measured.

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::rc::Rc;

use anyhow::Context as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::task::{LocalSet, spawn_local};

/// Serves until the process is killed, on one thread.
pub(crate) fn run() -> anyhow::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, serve())
}

async fn serve() -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
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

/// What everybody is answered.
pub(crate) struct Answers {
    charged: Vec<u8>,
    found: Vec<u8>,
}

impl Answers {
    pub(crate) fn new() -> Self {
        Self { charged: answer("100"), found: answer("200") }
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
            let answer = if buffer.starts_with(b"POST") { &answers.charged } else { &answers.found };
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
