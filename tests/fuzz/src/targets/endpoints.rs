use std::net::{Ipv4Addr, Ipv6Addr};

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, Void};
use payments_core::{ApiKey, Endpoint, Error, GetTransaction, Operation, Outcome};

use crate::http_text::line;

/// A key and a base address, one to a line.
pub fn read_endpoint(data: &[u8]) {
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
            check_refusal(&error, key);
            ApiKey::new("sk_live_8Qw2Zr5T").expect("visible ASCII")
        }
    };
    match Endpoint::new(base_url, key.clone()) {
        Ok(endpoint) => check_endpoint(&endpoint, base_url),
        Err(error) => check_refusal(&error, base_url),
    }
    assert_eq!(format!("{key:?}"), "ApiKey([redacted])");
}

fn check_refusal(error: &Error, refused: &str) {
    assert!(error.is_configuration());
    assert_eq!(error.outcome(), Outcome::NotProcessed);
    let shown = format!("{error} {error:?}");
    // The words of the errors themselves may be what was refused.
    let is_their_own = || {
        let key = || ApiKey::new("sk_live_8Qw2Zr5T").expect("visible ASCII");
        let addresses = ["", "https://u@a", "http://a"].into_iter();
        let mut errors = addresses
            .map(|address| Endpoint::new(address, key()).expect_err("no good address"))
            .chain(["", " "].map(|key| ApiKey::new(key).expect_err("no good key")));
        errors.any(|error| format!("{error} {error:?}").contains(refused))
    };
    assert!(refused.len() < 16 || !shown.contains(refused) || is_their_own(), "{shown}");
}

fn check_endpoint(endpoint: &Endpoint, base_url: &str) {
    assert_eq!(endpoint.base_url(), base_url.trim_end_matches('/'));
    assert!(!base_url.contains(['?', '#', ' ']), "{base_url}");
    let (scheme, rest) = base_url.split_once("://").expect("an absolute address");
    let authority = rest.split('/').next().unwrap_or_default();
    assert!(authority.is_ascii() && !authority.contains(['@', '\\', '%']), "{authority}");
    let host = host(authority);
    match scheme.to_ascii_lowercase().as_str() {
        "https" => {}
        "http" => assert!(is_loopback(host), "card numbers would cross the network in the clear to {host}"),
        other => panic!("the scheme {other}"),
    }

    let payment = TokenTransaction::builder("tok_1", Amount::from_cents(1), ConvenienceFee::Inactive).build();
    let void = Void::new("txn_1".parse().expect("a valid id"));
    let look_up = GetTransaction::new("txn_1".parse().expect("a valid id"));
    let addresses = [
        (payment.expect("a valid payment").request(endpoint).ok(), "/token-transaction"),
        (void.request(endpoint).ok(), "/void"),
        (look_up.request(endpoint).ok(), "/transaction/txn_1"),
    ];
    for (request, path) in addresses {
        let request = request.expect("an endpoint makes addresses");
        let address = request.uri();
        assert_eq!(address.host(), Some(host));
        assert_eq!(address.authority().map(http::uri::Authority::as_str), Some(authority));
        let prefix = &rest[authority.len()..];
        assert_eq!(address.path(), format!("{}{path}", prefix.trim_end_matches('/')));
        assert_eq!(address.query(), None);
        assert!(request.headers()["authorization"].is_sensitive());
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
