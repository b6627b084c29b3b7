use std::io::{self, BufRead, ErrorKind, Read};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

/// How a body ends.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Length(u64),
    LastChunk,
    Close,
}

/// Reads the head of the final answer, past the interim ones.
pub(crate) fn read_head(wire: &mut impl BufRead) -> io::Result<(Response<Bytes>, End)> {
    loop {
        let mut head = Vec::new();
        while !matches!(read_line(wire, LARGEST_HEAD - head.len(), &mut head)?, b"\r\n" | b"\n") {}
        let answer = parse(&head)?;
        if !answer.status().is_informational() {
            let end = end_of(answer.status(), answer.headers())?;
            return Ok((answer, end));
        }
    }
}

/// Reads a body to its end, or to the cap. What was read is in `body` even if this fails.
pub(crate) fn read_body(wire: &mut impl BufRead, end: End, cap: usize, body: &mut Vec<u8>) -> io::Result<()> {
    match end {
        End::Length(length) => read_part(wire, length, cap, body),
        End::LastChunk => {
            while read_chunk(wire, cap, body)? > 0 {}
            Ok(())
        }
        End::Close => match read_part(wire, u64::MAX, cap, body) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(()),
            other => other,
        },
    }
}

fn read_chunk(wire: &mut impl BufRead, cap: usize, body: &mut Vec<u8>) -> io::Result<u64> {
    let mut line = Vec::new();
    read_line(wire, LARGEST_HEAD, &mut line)?;
    let size = match httparse::parse_chunk_size(&line) {
        // The parser takes no digits at all for 0, which would be the end of the body.
        Ok(httparse::Status::Complete((_, size))) if line[0].is_ascii_hexdigit() => size,
        _ => return Err(ErrorKind::InvalidData.into()),
    };
    read_part(wire, size, cap, body)?;
    // An empty line ends a chunk; before the one that ends the last there may be trailers.
    while read_line(wire, LARGEST_HEAD, &mut Vec::new())? != b"\r\n" {
        if size > 0 {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    Ok(size)
}

/// Memory is taken for what comes, never for what is announced; one byte more than the cap tells that there is more.
fn read_part(wire: &mut impl BufRead, length: u64, cap: usize, body: &mut Vec<u8>) -> io::Result<()> {
    let room = cap.saturating_sub(body.len()) as u64;
    let wanted = length.min(room.saturating_add(1));
    let got = wire.by_ref().take(wanted).read_to_end(body)? as u64;
    if body.len() > cap {
        body.truncate(cap);
        return Err(ErrorKind::FileTooLarge.into());
    }
    if got < wanted { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// Appends the next line to `text` and gives it.
fn read_line<'a>(wire: &mut impl BufRead, most: usize, text: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
    let begin = text.len();
    wire.by_ref().take(most as u64).read_until(b'\n', text)?;
    match &text[begin..] {
        line if line.ends_with(b"\n") => Ok(line),
        line if line.len() < most => Err(ErrorKind::UnexpectedEof.into()),
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

fn parse(head: &[u8]) -> io::Result<Response<Bytes>> {
    // The parser's own errors are left behind: an error must not quote what a server may have echoed.
    let invalid = || io::Error::from(ErrorKind::InvalidData);
    let mut headers = [httparse::EMPTY_HEADER; 100];
    let mut parsed = httparse::Response::new(&mut headers);
    if !matches!(parsed.parse(head), Ok(httparse::Status::Complete(_))) {
        return Err(invalid());
    }
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = StatusCode::from_u16(parsed.code.unwrap_or_default()).map_err(|_| invalid())?;
    for header in parsed.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| invalid())?;
        let value = HeaderValue::from_bytes(header.value).map_err(|_| invalid())?;
        answer.headers_mut().append(name, value);
    }
    Ok(answer)
}

/// Where two readers could see two ends, the answer may be somebody else's: it is refused.
fn end_of(status: StatusCode, headers: &HeaderMap) -> io::Result<End> {
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        return Ok(End::Length(0));
    }
    let lengths: Vec<_> = headers.get_all(CONTENT_LENGTH).iter().map(HeaderValue::as_bytes).collect();
    let codings: Vec<_> = headers.get_all(TRANSFER_ENCODING).iter().map(HeaderValue::as_bytes).collect();
    match (lengths.as_slice(), codings.as_slice()) {
        ([], []) => Ok(End::Close),
        ([], [coding]) if coding.eq_ignore_ascii_case(b"chunked") => Ok(End::LastChunk),
        ([digits], []) if digits.iter().all(u8::is_ascii_digit) => {
            let length = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            length.map(End::Length).ok_or_else(|| ErrorKind::InvalidData.into())
        }
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

const LARGEST_HEAD: usize = 64 * 1024;
