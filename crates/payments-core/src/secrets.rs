use payments_model::scrub;
use zeroize::Zeroizing;

use crate::Endpoint;
use crate::operation::sealed::Describe;

/// What no text kept of an answer may show: the secrets of the request that it answers, and the key.
pub(crate) struct Secrets<'a>(Vec<&'a str>);

impl<'a> Secrets<'a> {
    pub(crate) fn of(operation: &'a (impl Describe + ?Sized), endpoint: &'a Endpoint) -> Self {
        let mut secrets = operation.secrets();
        secrets.push(endpoint.api_key().expose());
        Self(secrets)
    }

    #[cfg(test)]
    pub(crate) fn new(secrets: Vec<&'a str>) -> Self {
        Self(secrets)
    }

    pub(crate) fn as_slice(&self) -> &[&'a str] {
        &self.0
    }

    /// The text without secrets, cut to what a sentence needs: a body that puts a page there is cut.
    pub(crate) fn clean(&self, text: &str) -> String {
        const MESSAGE_MAX_BYTES: usize = 1024;
        let mut text = scrub(text, &self.0);
        text.truncate(text.floor_char_boundary(MESSAGE_MAX_BYTES));
        text
    }

    /// Whether one of them stands in a text that must be shown as it is or not at all, such as an id. Those that are so
    /// short that an id may hold them by chance do not count.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.0.iter().any(|secret| secret.len() >= 8 && text.contains(secret))
    }

    /// A copy for later, which is set to zero on drop.
    pub(crate) fn keep(&self) -> KeptSecrets {
        KeptSecrets(Zeroizing::new(self.0.join(SEPARATOR)))
    }
}

/// Secrets that wait until somebody looks at a text.
#[derive(Clone)]
pub(crate) struct KeptSecrets(Zeroizing<String>);

impl KeptSecrets {
    pub(crate) fn scrub(&self, text: &str) -> String {
        let secrets: Vec<&str> = self.0.split(SEPARATOR).filter(|secret| !secret.is_empty()).collect();
        scrub(text, &secrets)
    }
}

/// Stands in no key, no card and, but for a request that nobody would send, in no account.
const SEPARATOR: &str = "\0";
