//! Error pages of load balancers and reverse proxies.

use http::{HeaderValue, StatusCode};

use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::situations::send_and;
use crate::{AnyStack, Verdict};

/// The server responds with 502, 503 or 504, an HTML page and `Connection: close`, as reverse proxies and
/// load balancers do, and closes.
///
/// The transport must return each as a response with its status and page, on a new and on a reused connection. The request
/// arrives once, and the next call uses another connection.
pub fn a_gateway_error_page_is_a_response(stack: &dyn AnyStack) -> Verdict {
    let why = "the gateway may have forwarded the payment before it lost the service. A client that treats the page as \
               \"server not reached\", or retries because the status is temporary, charges a second time";
    Contract::new(own_name!(), why).check(stack, |harness| {
        for (gateway, status, head, framing) in PAGES {
            let code = status.as_u16();
            let page = format!(
                "<html>\r\n<head><title>{code}</title></head>\r\n<body>{gateway}</body>\r\n</html>\r\n"
            );
            let framing = framing.replace("LENGTH", &page.len().to_string());
            let body = if framing.contains("chunked") {
                format!("{:x}\r\n{page}\r\n0\r\n\r\n", page.len())
            } else {
                page.clone()
            };
            let response =
                format!("{head}Content-Type: text/html\r\nConnection: close\r\n{framing}\r\n{body}");
            let what = format!("responds like {gateway} with {code} and a page, and closes");
            harness.new_and_reused(&what, send_and(response, Connection::close), |run, call| {
                let response = call.must_have_status(status)?;
                let html = HeaderValue::from_static("text/html");
                let is_unchanged =
                    response.body() == page.as_str() && response.headers().get("content-type") == Some(&html);
                call.must(is_unchanged, "the unchanged page and its Content-Type")?;
                run.must_have_arrived_once(&call.id)?;
                run.follow_up(call)
            })?;
        }
        Ok(())
    })
}

/// The sender, the status, the first lines of the head, and the framing of the body.
const PAGES: [(&str, StatusCode, &str, &str); 5] = [
    (
        "nginx",
        StatusCode::BAD_GATEWAY,
        "HTTP/1.1 502 Bad Gateway\r\nServer: nginx/1.24.0\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n",
        "Content-Length: LENGTH\r\n",
    ),
    (
        "a cloud load balancer",
        StatusCode::SERVICE_UNAVAILABLE,
        "HTTP/1.1 503 Service Temporarily Unavailable\r\nServer: elb\r\nRetry-After: 0\r\n",
        "Content-Length: LENGTH\r\n",
    ),
    (
        "HAProxy",
        StatusCode::SERVICE_UNAVAILABLE,
        "HTTP/1.0 503 Service Unavailable\r\nCache-Control: no-cache\r\n",
        "",
    ),
    (
        "a cloud load balancer",
        StatusCode::GATEWAY_TIMEOUT,
        "HTTP/1.1 504 Gateway Timeout\r\nServer: elb\r\n",
        "Content-Length: LENGTH\r\n",
    ),
    (
        "a content delivery network",
        StatusCode::BAD_GATEWAY,
        "HTTP/1.1 502 Bad Gateway\r\nVia: 1.1 edge\r\nX-Cache: Error\r\n",
        "Transfer-Encoding: chunked\r\n",
    ),
];
