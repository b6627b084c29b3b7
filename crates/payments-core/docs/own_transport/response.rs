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

/// Reads the head of the final response and skips interim responses.
pub(crate) fn read_head(reader: &mut impl BufRead) -> io::Result<(Response<Bytes>, End)> {
    loop {
        let mut head = Vec::new();
        while !matches!(read_line(reader, LARGEST_HEAD - head.len(), &mut head)?, b"\r\n" | b"\n") {}
        let response = parse(&head)?;
        if !response.status().is_informational() {
            let end = end_of(response.status(), response.headers())?;
            return Ok((response, end));
        }
    }
}

/// Reads a body to its end, or to the cap. After an error, `body` has the part that was read.
pub(crate) fn read_body(
    reader: &mut impl BufRead,
    end: End,
    cap: usize,
    body: &mut Vec<u8>,
) -> io::Result<()> {
    match end {
        End::Length(length) => read_part(reader, length, cap, body),
        End::LastChunk => {
            while read_chunk(reader, cap, body)? > 0 {}
            Ok(())
        }
        End::Close => match read_part(reader, u64::MAX, cap, body) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(()),
            other => other,
        },
    }
}

fn read_chunk(reader: &mut impl BufRead, cap: usize, body: &mut Vec<u8>) -> io::Result<u64> {
    let mut line = Vec::new();
    read_line(reader, LARGEST_HEAD, &mut line)?;
    let size = match httparse::parse_chunk_size(&line) {
        // The parser reads a line without digits as 0, which would end the body.
        Ok(httparse::Status::Complete((_, size))) if line[0].is_ascii_hexdigit() => size,
        _ => return Err(ErrorKind::InvalidData.into()),
    };
    read_part(reader, size, cap, body)?;
    // An empty line ends a chunk. Trailers may precede that of the last chunk.
    while read_line(reader, LARGEST_HEAD, &mut Vec::new())? != b"\r\n" {
        if size > 0 {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    Ok(size)
}

/// Allocates memory for bytes that arrive, not for those announced. One byte more than the cap shows that the body is too long.
fn read_part(reader: &mut impl BufRead, length: u64, cap: usize, body: &mut Vec<u8>) -> io::Result<()> {
    let room = cap.saturating_sub(body.len()) as u64;
    let wanted = length.min(room.saturating_add(1));
    let got = reader.by_ref().take(wanted).read_to_end(body)? as u64;
    if body.len() > cap {
        body.truncate(cap);
        return Err(ErrorKind::FileTooLarge.into());
    }
    if got < wanted { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// Appends the next line to `text` and returns it.
fn read_line<'a>(reader: &mut impl BufRead, most: usize, text: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
    let begin = text.len();
    reader.by_ref().take(most as u64).read_until(b'\n', text)?;
    match &text[begin..] {
        line if line.ends_with(b"\n") => Ok(line),
        line if line.len() < most => Err(ErrorKind::UnexpectedEof.into()),
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

fn parse(head: &[u8]) -> io::Result<Response<Bytes>> {
    // Drops the parser's errors: an error must not quote a server that may have repeated the request.
    let invalid = || io::Error::from(ErrorKind::InvalidData);
    let mut headers = vec![httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Response::new(&mut headers);
    if !matches!(parsed.parse(head), Ok(httparse::Status::Complete(_))) {
        return Err(invalid());
    }
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::from_u16(parsed.code.unwrap_or_default()).map_err(|_| invalid())?;
    for header in parsed.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| invalid())?;
        let value = HeaderValue::from_bytes(header.value).map_err(|_| invalid())?;
        response.headers_mut().append(name, value);
    }
    Ok(response)
}

/// Refuses a response in which two readers could see two different ends: it may belong to another request.
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
/// A payment that was processed must not become unknown because a proxy is talkative.
const MOST_HEADERS: usize = 1_000;
