//! The API keys that this process knows, to keep them out of what it stores and shows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use payments_model::mask;
use payments_model::unversioned::contains_long_secret;
use zeroize::Zeroizing;

use super::api_key::{Key, LARGEST_KEY_FILE};
use super::source::{API_KEY, API_KEY_FILE, text_variable, variable};
use crate::failure::Failure;
use crate::files;

/// The keys of the options and the environment: also those that are overridden, refused or invalid.
#[derive(Clone)]
pub(crate) struct KnownKeys(Arc<[Zeroizing<String>]>);

impl KnownKeys {
    /// `file` is that of the option, and `chosen` the key that calls would use. Its file may be a pipe, which can be read only
    /// once.
    pub(super) fn new(file: Option<&Path>, chosen: Option<&Key>) -> Self {
        let files = file.map(Path::to_owned).into_iter().chain(variable(API_KEY_FILE).map(PathBuf::from));
        let in_files = files.filter(|path| path.is_file()).filter_map(|path| {
            let bytes = files::read(&path, LARGEST_KEY_FILE).ok()??;
            Some(Zeroizing::new(str::from_utf8(&bytes).ok()?.to_owned()))
        });
        let variable = text_variable(API_KEY).ok().flatten().map(Zeroizing::new);
        let keys = chosen.map(|key| key.text.clone()).into_iter().chain(variable).chain(in_files);
        // An invalid key may have white space around it that a person leaves out.
        let keys = keys.map(|key| Zeroizing::new(key.trim().to_owned()));
        Self(keys.filter(|key| !key.is_empty()).collect())
    }

    /// Only the keys in the environment, for a command that takes no settings.
    pub(crate) fn in_environment() -> Self {
        Self::new(None, None)
    }

    /// Masks the message if it contains an API key, which a person may have given in place of another text.
    pub(crate) fn hidden_in(&self, failure: Failure) -> Failure {
        let message =
            if self.is_in(&failure.message) { self.mask(&failure.message) } else { failure.message };
        Failure { message, ..failure }
    }

    /// The text with the keys and card numbers masked.
    pub(crate) fn mask(&self, text: &str) -> String {
        mask(text, &self.0.iter().map(|key| key.as_str()).collect::<Vec<_>>()).into_owned()
    }

    /// Whether the text contains one of the keys, unless that is so short that it occurs by chance.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.0.iter().any(|key| contains_long_secret(text, &[key.as_str()]))
    }
}
