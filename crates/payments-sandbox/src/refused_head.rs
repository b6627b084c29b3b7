use http::StatusCode;

/// The status with which hyper on its own refuses what it cannot read as a request: a head of an error alone, without the
/// version that every answer of a [site](crate::site::Site) has.
pub(crate) fn status(written: &[u8]) -> Option<StatusCode> {
    let status = written.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    let is_refusal = status.starts_with(b"4")
        && written.ends_with(b"\r\n\r\n")
        && !written.windows(VERSION_HEADER.len()).any(|name| name == VERSION_HEADER);
    is_refusal.then(|| StatusCode::from_bytes(status).ok()).flatten()
}

const VERSION_HEADER: &[u8] = b"sandbox-version:";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_without_a_version_is_a_refusal() {
        let refusal =
            b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(status(refusal), Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
        for other in [
            "",
            "HTTP/1.1 4",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\nsandbox-version: 1\r\ncontent-length: 2\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\nsandbox-version: 1\r\ncontent-length: 2\r\n\r\n{}",
            "{\"msg\":\"HTTP/1.1 400 Bad Request\"}",
        ] {
            assert_eq!(status(other.as_bytes()), None, "{other}");
        }
    }
}
