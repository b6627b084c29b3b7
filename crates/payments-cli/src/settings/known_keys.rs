//! The API keys that this process knows, to keep them out of what it stores and shows.

use std::fmt;
use std::sync::Arc;

use payments_model::mask;
use zeroize::Zeroizing;

use super::profile::Profile;
use super::source::{API_KEY, text_variable};

/// The keys of the options, the environment and the profile: also those that are overridden or invalid.
#[derive(Clone)]
pub(crate) struct KnownKeys(Arc<[Zeroizing<String>]>);

impl KnownKeys {
    /// `chosen` is the key that calls would use. No file is read: a key file may be a pipe, which can be read only once.
    pub(super) fn new(chosen: Option<&Zeroizing<String>>, profile: Option<&Profile>) -> Self {
        let variable = text_variable(API_KEY).ok().flatten().map(Zeroizing::new);
        let in_profile = profile.and_then(|profile| profile.entries.api_key.as_ref());
        let keys = chosen.into_iter().chain(&variable).chain(in_profile);
        // An invalid key may have white space around it that a person leaves out.
        let keys = keys.map(|key| Zeroizing::new(key.trim().to_owned()));
        Self(keys.filter(|key| !key.is_empty()).collect())
    }

    /// Only the key in the environment, for a command that takes no settings.
    pub(crate) fn in_environment() -> Self {
        Self::new(None, None)
    }

    /// The text with the keys and card numbers masked.
    pub(crate) fn mask(&self, text: &str) -> String {
        let keys: Vec<_> = self.0.iter().map(|key| key.as_str()).collect();
        mask(text, &keys).into_owned()
    }

    /// Whether the text contains one of the keys. A shorter key would occur in other texts by chance.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.0.iter().any(|key| key.len() >= 8 && text.contains(key.as_str()))
    }
}

impl fmt::Debug for KnownKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
