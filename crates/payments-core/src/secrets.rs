use payments_model::scrub;
use zeroize::Zeroizing;

use crate::ApiKey;

/// What no text kept of an answer may show: the secrets of the request that it answers, and the key.
pub(crate) struct Secrets<'a>(Vec<&'a str>);

impl<'a> Secrets<'a> {
    pub(crate) fn new(mut of_the_request: Vec<&'a str>, api_key: &'a ApiKey) -> Self {
        of_the_request.push(api_key.expose());
        Self(of_the_request)
    }

    pub(crate) fn as_slice(&self) -> &[&'a str] {
        &self.0
    }

    /// The text without secrets, cut to what a sentence needs: a body that puts a page there is cut.
    pub(crate) fn clean(&self, text: &str) -> String {
        const MESSAGE_MAX_BYTES: usize = 1024;
        scrub_and_cut(text, &self.0, MESSAGE_MAX_BYTES)
    }

    /// A code without secrets. A number too short to be anything but a code is kept whatever it equals: a security code of
    /// 400 must not hide that the service said 400.
    pub(crate) fn clean_code(&self, text: &str) -> String {
        let is_short_number =
            text.len() < SHORTEST_TOLD_BY_ITSELF && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_short_number { text.to_owned() } else { self.clean(text) }
    }

    /// Whether one of them stands in a text that must be shown as it is or not at all, such as an id. Those that are so
    /// short that an id may hold them by chance do not count.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.0.iter().any(|secret| secret.len() >= SHORTEST_TOLD_BY_ITSELF && text.contains(secret))
    }

    /// A copy for later, which is set to zero on drop.
    pub(crate) fn keep(&self) -> KeptSecrets {
        KeptSecrets(Zeroizing::new(self.0.join(SEPARATOR)))
    }
}

/// Shorter ones look like too much else: a security code, an expiry.
const SHORTEST_TOLD_BY_ITSELF: usize = 8;

/// Secrets that wait until somebody looks at a text.
#[derive(Clone)]
pub(crate) struct KeptSecrets(Zeroizing<String>);

impl KeptSecrets {
    /// The text without secrets, cut to this length.
    pub(crate) fn clean(&self, text: &str, max_bytes: usize) -> String {
        let secrets: Vec<&str> = self.0.split(SEPARATOR).filter(|secret| !secret.is_empty()).collect();
        scrub_and_cut(text, &secrets, max_bytes)
    }
}

/// Stands in no key, no card and, but for a request that nobody would send, in no account.
const SEPARATOR: &str = "\0";

/// In this order, because half a secret at a cut looks like none.
fn scrub_and_cut(text: &str, secrets: &[&str], max_bytes: usize) -> String {
    let mut text = scrub(text, secrets);
    text.truncate(text.floor_char_boundary(max_bytes));
    text
}
