use payments_core::model::unversioned::is_blank;
use payments_core::model::{CustomerId, TransactionId};
use payments_core::{ApiKey, Endpoint, ErrorKind, GetCustomer, GetTransaction, Operation};

/// An identifier as a caller writes it, and the same identifier from a response, which becomes one segment of a path.
pub(crate) fn read_path_id(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let key = ApiKey::new("sk_live_8Qw2Zr5T").expect("visible ASCII");
    let endpoint = Endpoint::new(BASE_URL, key).expect("a valid URL");

    let new = TransactionId::new(text);
    assert_eq!(new.is_ok(), CustomerId::new(text).is_ok(), "both types have the same rule");
    assert!(new.is_err() || is_storable(text), "{text:?}");

    let from_response = TransactionId::from_response(text);
    assert_eq!(from_response.is_some(), !text.is_empty());
    let Some(from_response) = from_response else { return };
    assert_eq!(from_response.path_segment().is_ok(), is_storable(text) && !has_dots(text), "{text:?}");

    match GetTransaction::new(from_response).request(&endpoint) {
        Ok(request) => {
            check_uri(request.uri(), "transaction", text);
            let customer = GetCustomer::new(CustomerId::from_response(text).expect("it is not empty"));
            let request = customer.request(&endpoint).expect("both types have the same rule");
            check_uri(request.uri(), "customer", text);
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Invalid);
            let shown = format!("{error} {error:?}");
            assert!(text.len() < 12 || !shown.contains(text), "{shown}");
        }
    }
}

/// The URI names one record under the base URL, for every parser.
fn check_uri(uri: &http::Uri, collection: &str, id: &str) {
    let segment = encoded(id);
    assert_eq!(uri.to_string(), format!("{BASE_URL}/{collection}/{segment}"));
    let again: http::Uri = uri.to_string().parse().expect("a URI can be parsed again");
    assert_eq!((again.path(), again.query()), (uri.path(), None));
    let segments: Vec<&str> = again.path().split('/').collect();
    assert_eq!(segments, ["", "api", "v1", "public", collection, &segment]);
    assert!(!has_dots(id));
}

/// The decision, implemented again: everything but the unreserved characters of RFC 3986 is percent-encoded.
fn encoded(id: &str) -> String {
    let unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    let byte = |byte: u8| match char::from(byte) {
        letter if unreserved.contains(letter) => letter.to_string(),
        _ => format!("%{byte:02X}"),
    };
    id.bytes().map(byte).collect()
}

/// Whether the id has a part that percent-encoding cannot save.
fn has_dots(id: &str) -> bool {
    id.replace('\\', "/").split('/').any(|part| part == "." || part == "..")
}

/// Whether an id may be written down: it is not blank, not too long, and has no control characters.
fn is_storable(id: &str) -> bool {
    !is_blank(id) && id.chars().count() <= 256 && !id.chars().any(char::is_control)
}

const BASE_URL: &str = "https://pay.example.com/api/v1/public";
