use payments_model::scrub;
use zeroize::Zeroizing;

use crate::Endpoint;

/// What no text kept of an answer may show: the secrets of the request that it answers, and the key.
pub(crate) struct Secrets<'a> {
    /// Those of the request, and the key behind them.
    all: Vec<&'a str>,
    endpoint: &'a Endpoint,
}

impl<'a> Secrets<'a> {
    pub(crate) fn new(of_the_request: Vec<&'a str>, endpoint: &'a Endpoint) -> Self {
        let mut all = of_the_request;
        all.push(endpoint.api_key().expose());
        Self { all, endpoint }
    }

    pub(crate) fn as_slice(&self) -> &[&'a str] {
        &self.all
    }

    /// Whether one of them stands in a text that must be shown as it is or not at all, such as an id. Those that are so
    /// short that an id may hold them by chance do not count.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.all.iter().any(|secret| secret.len() >= SHORTEST_TOLD_BY_ITSELF && text.contains(secret))
    }

    /// A copy for later, which is set to zero on drop.
    pub(crate) fn keep(&self) -> KeptSecrets {
        let (_key, of_the_request) = self.all.split_last().expect("the key is always there");
        let length = of_the_request.iter().map(|secret| secret.len() + 1).sum();
        let mut kept = Zeroizing::new(Vec::with_capacity(length));
        for secret in of_the_request {
            kept.extend_from_slice(secret.as_bytes());
            kept.push(SEPARATOR);
        }
        KeptSecrets { of_the_request: kept, endpoint: self.endpoint.clone() }
    }
}

/// Shorter ones look like too much else: a security code, an expiry.
const SHORTEST_TOLD_BY_ITSELF: usize = 8;

/// Secrets that wait until somebody looks at a text.
#[derive(Clone)]
pub(crate) struct KeptSecrets {
    /// Each with a [`SEPARATOR`] behind it.
    of_the_request: Zeroizing<Vec<u8>>,
    /// Has the key.
    endpoint: Endpoint,
}

impl KeptSecrets {
    /// The text without secrets, cut to this length.
    pub(crate) fn clean(&self, text: &str, max_bytes: usize) -> String {
        let of_the_request = self.of_the_request.split(|byte| *byte == SEPARATOR);
        let of_the_request = of_the_request.filter_map(|secret| str::from_utf8(secret).ok());
        let secrets: Vec<&str> = of_the_request.chain([self.endpoint.api_key().expose()]).collect();
        // In this order, because half a secret at a cut looks like none.
        let mut text = scrub(text, &secrets);
        text.truncate(text.floor_char_boundary(max_bytes));
        text
    }

    /// The text without secrets, cut to what a sentence needs: a body that puts a page there is cut.
    pub(crate) fn clean_message(&self, text: &str) -> String {
        const MESSAGE_MAX_BYTES: usize = 1024;
        self.clean(text, MESSAGE_MAX_BYTES)
    }

    /// A code without secrets. A number too short to be anything but a code is kept whatever it equals: a security code of
    /// 400 must not hide that the service said 400.
    pub(crate) fn clean_code(&self, text: &str) -> String {
        let is_short_number =
            text.len() < SHORTEST_TOLD_BY_ITSELF && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_short_number { text.to_owned() } else { self.clean_message(text) }
    }
}

/// Stands in no text, whatever somebody takes for an account.
const SEPARATOR: u8 = 0xff;
