use std::io;

use http::HeaderValue;
use payments_core::transport::ServerAddress;
use thiserror::Error;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Why a proxy opened no tunnel.
#[derive(Debug, Error)]
pub(crate) enum TunnelError {
    /// Its reason phrase and its page are left out: they are not the service's.
    #[error("the proxy returned {0}")]
    Refused(u16),
    #[error("the proxy's response is not HTTP")]
    NotHttp,
    #[error("the head of the proxy's response is larger than {} KiB", MAX_HEAD / 1024)]
    HeadTooLarge,
    #[error("the proxy closed the connection before it responded")]
    Closed,
    #[error("the connection to the proxy failed")]
    Io(#[from] io::Error),
}

/// Asks the proxy at the other end of `proxy` for a tunnel to `server`. Afterwards the stream is the tunnel.
///
/// hyper-util's `Tunnel` does not show the status of a refusal.
pub(crate) async fn open(
    proxy: &mut TcpStream,
    server: &ServerAddress,
    credentials: Option<&HeaderValue>,
) -> Result<(), TunnelError> {
    let target = format!("{}:{}", server.host(), server.port());
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
    if let Some(credentials) = credentials {
        request.extend_from_slice(b"Proxy-Authorization: ");
        request.extend_from_slice(credentials.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    proxy.write_all(&request).await?;

    let mut head = Vec::new();
    let mut arrived = [0; 4096];
    loop {
        // What follows the head comes from the service, so it is not taken out of the stream.
        let length = proxy.peek(&mut arrived).await?;
        if length == 0 {
            return Err(TunnelError::Closed);
        }
        let before = head.len();
        head.extend_from_slice(&arrived[..length]);
        let end = end_of_head(&head, before);
        if let Some(end) = end {
            head.truncate(end);
        }
        proxy.read_exact(&mut arrived[..head.len() - before]).await?;
        if let Some(line_end) = head.iter().position(|byte| *byte == b'\n') {
            match status(&head[..line_end]).ok_or(TunnelError::NotHttp)? {
                // An interim response: the final one follows. After 101 the proxy would speak another protocol.
                100 | 102..=199 if end.is_some() => {
                    head.clear();
                    continue;
                }
                100 | 102..=200 => {}
                refused => return Err(TunnelError::Refused(refused)),
            }
        }
        match end {
            Some(_) => return Ok(()),
            None if head.len() > MAX_HEAD => return Err(TunnelError::HeadTooLarge),
            None => {}
        }
    }
}

/// Chosen by this SDK.
const MAX_HEAD: usize = 64 * 1024;

/// Where the empty line after the head ends. It does not end within the first `searched` bytes.
fn end_of_head(bytes: &[u8], searched: usize) -> Option<usize> {
    (searched.saturating_sub(2)..bytes.len()).find_map(|at| {
        let ends = [&b"\n\r\n"[..], b"\n\n"];
        ends.iter().find(|end| bytes[at..].starts_with(end)).map(|end| at + end.len())
    })
}

/// The status of a status line such as `HTTP/1.1 200 OK`.
fn status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/1.1 ").or_else(|| line.strip_prefix(b"HTTP/1.0 "))?;
    let (digits, after) = rest.split_at_checked(3)?;
    let is_whole = matches!(after.first(), None | Some(b' ' | b'\r'));
    let digits = digits.iter().all(u8::is_ascii_digit).then_some(digits).filter(|_| is_whole)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_ends_with_its_first_empty_line() {
        for (bytes, end) in [
            ("HTTP/1.1 200 OK\r\n\r\n", Some(19)),
            ("HTTP/1.1 200 OK\r\na: b\r\n\r\nrest\r\n\r\n", Some(25)),
            ("HTTP/1.1 200 OK\n\nrest", Some(17)),
            ("HTTP/1.1 200 OK\r\na: b\r\n\r", None),
            ("\r\n", None),
            ("", None),
        ] {
            assert_eq!(end_of_head(bytes.as_bytes(), 0), end, "{bytes:?}");
        }
    }

    #[test]
    fn only_a_status_of_three_digits_is_a_status() {
        for (line, expected) in [
            ("HTTP/1.1 403 Forbidden\r", Some(403)),
            ("HTTP/1.0 407", Some(407)),
            ("HTTP/1.1 200\r", Some(200)),
            ("HTTP/1.1 2000 OK", None),
            ("HTTP/1.1 20 OK", None),
            ("HTTP/2 200 OK", None),
            ("HTTP/1.1  200 OK", None),
            ("ICY 200 OK", None),
        ] {
            assert_eq!(status(line.as_bytes()), expected, "{line}");
        }
    }
}
