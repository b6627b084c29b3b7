use std::net::{Ipv4Addr, Ipv6Addr};

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, Void};
use payments_core::{ApiKey, Endpoint, Error, ErrorKind, GetTransaction, Operation, Outcome};

use crate::http_text::line;

/// An API key and a base URL, one per line.
pub(crate) fn read_endpoint(data: &[u8]) {
    let (key, base_url) = line(data);
    let (Ok(key), Ok(base_url)) = (str::from_utf8(key), str::from_utf8(base_url)) else { return };
    let base_url = base_url.trim_end_matches('\n');
    let is_key = !key.is_empty() && key.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
    let key = match ApiKey::new(key) {
        Ok(key) => {
            assert!(is_key);
            key
        }
        Err(error) => {
            assert!(!is_key);
            check_error(&error, key);
            ApiKey::new("sk_live_8Qw2Zr5T").expect("visible ASCII")
        }
    };
    match Endpoint::new(base_url, key.clone()) {
        Ok(endpoint) => check_endpoint(&endpoint, base_url),
        Err(error) => check_error(&error, base_url),
    }
    assert_eq!(format!("{key:?}"), "ApiKey([redacted])");
}

fn check_error(error: &Error, input: &str) {
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert_eq!(error.outcome(), Outcome::NotProcessed);
    let shown = format!("{error} {error:?}");
    // The input may be part of the fixed text of a message.
    let is_message_text = || {
        let key = || ApiKey::new("sk_live_8Qw2Zr5T").expect("visible ASCII");
        let addresses = ["", "https://u@a", "http://a"].into_iter();
        let mut errors = addresses
            .map(|address| Endpoint::new(address, key()).expect_err("an invalid base URL"))
            .chain(["", " "].map(|key| ApiKey::new(key).expect_err("an invalid key")));
        errors.any(|error| format!("{error} {error:?}").contains(input))
    };
    assert!(input.len() < 16 || !shown.contains(input) || is_message_text(), "{shown}");
}

fn check_endpoint(endpoint: &Endpoint, base_url: &str) {
    let base_url = &without_zeros_before_the_port(base_url.trim_end_matches('/'));
    assert_eq!(endpoint.base_url(), base_url);
    assert!(!base_url.contains(['?', '#', ' ']), "{base_url}");
    let (scheme, rest) = base_url.split_once("://").expect("an absolute URL");
    let authority = rest.split('/').next().unwrap_or_default();
    assert!(authority.is_ascii() && !authority.contains(['@', '\\', '%']), "{authority}");
    let host = host(authority);
    match scheme.to_ascii_lowercase().as_str() {
        "https" => {}
        "http" => assert!(is_loopback(host), "card numbers would be sent unencrypted to {host}"),
        other => panic!("unexpected scheme {other}"),
    }

    let payment = TokenTransaction::builder("tok_1", Amount::from_cents(1), ConvenienceFee::Inactive).build();
    let void = Void::new("txn_1".parse().expect("a valid id"));
    let lookup = GetTransaction::new("txn_1".parse().expect("a valid id"));
    let requests = [
        (payment.expect("a valid payment").request(endpoint).ok(), "/token-transaction"),
        (void.request(endpoint).ok(), "/void"),
        (lookup.request(endpoint).ok(), "/transaction/txn_1"),
    ];
    for (request, path) in requests {
        let request = request.expect("a valid endpoint builds valid requests");
        let uri = request.uri();
        assert_eq!(uri.host(), Some(host));
        assert_eq!(uri.authority().map(http::uri::Authority::as_str), Some(authority));
        let prefix = &rest[authority.len()..];
        assert_eq!(uri.path(), format!("{}{path}", prefix.trim_end_matches('/')));
        assert_eq!(uri.query(), None);
        assert!(request.headers()["authorization"].is_sensitive());
    }
}

/// `https://host:00443/path` is written as `https://host:443/path`.
fn without_zeros_before_the_port(base_url: &str) -> String {
    let scheme_end = base_url.find("://").map_or(0, |at| at + 3);
    let authority_end = base_url[scheme_end..].find('/').map_or(base_url.len(), |at| scheme_end + at);
    let (authority, path) = base_url.split_at(authority_end);
    match authority.rsplit_once(':') {
        Some((host, port)) if port.starts_with('0') => {
            format!("{host}:{}{path}", port.trim_start_matches('0'))
        }
        _ => base_url.to_owned(),
    }
}

fn host(authority: &str) -> &str {
    let end = match authority.strip_prefix('[') {
        Some(address) => address.find(']').map_or(authority.len(), |end| end + 2),
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(end);
    let port = port.strip_prefix(':').unwrap_or("1");
    assert!(
        port.parse::<u16>().is_ok_and(|port| port > 0) && !port.starts_with('+'),
        "the port of {authority}"
    );
    assert!(!host.is_empty());
    host
}

fn is_loopback(host: &str) -> bool {
    let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.octets()[0] == 127)
        || in_brackets.is_some_and(|host| host.parse() == Ok(Ipv6Addr::LOCALHOST))
}
