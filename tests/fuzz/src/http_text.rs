use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};

/// A response from any bytes: a status line, headers, an empty line and the body, or only the body, with status 200.
///
/// No input is rejected, because a fuzzer learns nothing from a rejected input. Invalid headers are skipped.
pub(crate) fn response(data: &[u8]) -> Response<Bytes> {
    let Some(rest) = data.strip_prefix(b"HTTP/1.1 ") else {
        return Response::new(Bytes::copy_from_slice(data));
    };
    let (first_line, rest) = line(rest);
    let status = first_line.get(..3).and_then(|digits| StatusCode::from_bytes(digits).ok());
    let (headers, body) = headers(rest);
    let mut response = Response::new(Bytes::copy_from_slice(body));
    *response.status_mut() = status.unwrap_or_default();
    for (name, value) in headers {
        response.headers_mut().append(name, value);
    }
    response
}

/// A request from a request line, headers, an empty line and the body. `None` if the method or the target is invalid, which
/// an HTTP server would reject.
pub(crate) fn request(data: &[u8]) -> Option<Request<Bytes>> {
    let (first_line, rest) = line(data);
    let mut words = first_line.split(|byte| *byte == b' ');
    let method = Method::from_bytes(words.next()?).ok()?;
    let target = Uri::try_from(words.next()?).ok()?;
    let (headers, body) = headers(rest);
    let mut request = Request::new(Bytes::copy_from_slice(body));
    *request.method_mut() = method;
    *request.uri_mut() = target;
    for (name, value) in headers {
        request.headers_mut().append(name, value);
    }
    Some(request)
}

fn headers(mut rest: &[u8]) -> (Vec<(HeaderName, HeaderValue)>, &[u8]) {
    let mut headers = Vec::new();
    while !rest.is_empty() {
        let (header, after) = line(rest);
        rest = after;
        if header.is_empty() {
            break;
        }
        let Some(colon) = header.iter().position(|byte| *byte == b':') else { continue };
        let name = HeaderName::from_bytes(&header[..colon]);
        let value = HeaderValue::from_bytes(header[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.push((name, value));
        }
    }
    (headers, rest)
}

/// The first line without its end, and what follows.
pub(crate) fn line(data: &[u8]) -> (&[u8], &[u8]) {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else {
        return (data, &[]);
    };
    (data[..end].strip_suffix(b"\r").unwrap_or(&data[..end]), &data[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_is_read_from_any_bytes() {
        let response = response(b"HTTP/1.1 429 Slow\r\nRetry-After: 3\r\nbad\r\nx y: z\r\n\r\n{}\n");
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "3");
        assert_eq!(response.headers().len(), 1);
        assert_eq!(&**response.body(), b"{}\n");
        assert_eq!(&**super::response(b"{}").body(), b"{}");
    }

    #[test]
    fn request_needs_a_method_and_a_target() {
        let request = request(b"POST /api/v1/public/void HTTP/1.1\nAuthorization: k\n\n{}").unwrap();
        assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/api/v1/public/void"));
        assert_eq!(&**request.body(), b"{}");
        assert!(super::request(b"\n").is_none());
    }
}
