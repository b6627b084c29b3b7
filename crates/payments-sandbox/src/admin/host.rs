use std::net::IpAddr;

use http::HeaderMap;
use http::header::HOST;
use http::uri::Authority;

/// Whether every host that is asked for is a literal address or `localhost`.
///
/// A web page cannot read another origin's answers, but a name of its own may come to mean this machine: then the browser
/// takes the sandbox for the page's own server, says no `Origin`, and the name is all that gives it away.
pub(super) fn is_local(headers: &HeaderMap) -> bool {
    headers.get_all(HOST).iter().all(|host| host.to_str().is_ok_and(is_address_or_localhost))
}

fn is_address_or_localhost(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let host = authority.host();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    address.parse::<IpAddr>().is_ok() || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_and_localhost_are_local_and_no_other_name_is() {
        for local in
            ["127.0.0.1", "127.0.0.1:8080", "[::1]:8080", "[::1]", "localhost", "LOCALHOST:1", "192.0.2.1:80"]
        {
            assert!(is_address_or_localhost(local), "{local}");
        }
        for other in [
            "",
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "x",
        ] {
            assert!(!is_address_or_localhost(other), "{other}");
        }
        assert!(is_local(&HeaderMap::new()), "no browser leaves it out");
    }
}
