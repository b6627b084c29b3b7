use anyhow::{Context as _, bail};

/// The head of an HTTP answer, as far as a load generator needs it to find the end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Where the body begins.
    pub(crate) length: usize,
    pub(crate) body_length: usize,
}

impl Head {
    /// Reads the head that the bytes begin with, or nothing if they end before it does.
    pub(crate) fn read(bytes: &[u8]) -> anyhow::Result<Option<Self>> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut answer = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(length) = answer.parse(bytes).context("this is no HTTP answer")?
        else {
            return Ok(None);
        };
        let status = answer.code.context("an answer without a status")?;
        let Some(body_length) =
            answer.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"))
        else {
            bail!("HTTP {status} without a Content-Length: only such answers are understood here");
        };
        let body_length = std::str::from_utf8(body_length.value)?.trim().parse().context("Content-Length")?;
        Ok(Some(Self { status, length, body_length }))
    }

    /// Where the answer ends.
    pub(crate) fn end(&self) -> usize {
        self.length.saturating_add(self.body_length)
    }
}

const MOST_HEADERS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 4";

    #[test]
    fn the_end_of_an_answer_is_found() {
        let head = Head::read(ANSWER).unwrap().unwrap();
        assert_eq!((head.status, &ANSWER[head.length..head.end()]), (200, b"ok".as_slice()));
    }

    #[test]
    fn a_head_that_is_cut_anywhere_is_waited_for() {
        let head = Head::read(ANSWER).unwrap().unwrap();
        for end in 0..head.length {
            assert_eq!(Head::read(&ANSWER[..end]).unwrap(), None, "{end}");
        }
        assert_eq!(Head::read(&ANSWER[..head.length]).unwrap(), Some(head));
    }

    #[test]
    fn what_is_not_understood_is_an_error_and_not_a_wait() {
        for bytes in [
            b"SSH-2.0-OpenSSH\r\n\r\n".as_slice(),
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        ] {
            assert!(Head::read(bytes).is_err());
        }
    }
}
