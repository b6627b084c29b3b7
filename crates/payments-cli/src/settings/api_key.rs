//! The API key: from a file or the environment, whether others can read or change that file, and how every key that this process
//! knows is kept out of what it stores and shows.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use payments_core::ApiKey;
use payments_model::mask;
use payments_model::unversioned::contains_long_secret;
use zeroize::Zeroizing;

use super::source::{API_KEY, API_KEY_FILE, Source, text_variable, variable};
use crate::args::ClientOptions;
use crate::failure::Failure;
use crate::files::{self, FIX_THE_FILE};

/// The key: from the option's file, else the variable, else the variable's file.
fn chosen(options: &ClientOptions) -> Result<Key, Failure> {
    if let Some(path) = &options.api_key_file {
        key_file(path, Source::FileOf("--api-key-file"))
    } else if let Some(key) = text_variable(API_KEY)? {
        let (source, key) = (Source::Variable(API_KEY), Zeroizing::new(key));
        // A pipe can be read only once, and its writer may need it.
        let is_same = |path: PathBuf| {
            let other = path.is_file().then(|| key_file(&path, Source::FileOf(API_KEY_FILE)).ok()).flatten();
            other.is_some_and(|other| other.text == key)
        };
        let is_ambiguous = variable(API_KEY_FILE).map(PathBuf::from).is_some_and(|path| !is_same(path));
        let warning = is_ambiguous.then(|| {
            format!("{API_KEY} is used, and {API_KEY_FILE}, which is set too, is not: another key may be another merchant's")
        });
        Ok(Key { text: key, source, warning, is_ambiguous })
    } else if let Some(path) = variable(API_KEY_FILE).map(PathBuf::from) {
        key_file(&path, Source::FileOf(API_KEY_FILE))
    } else {
        Err(Failure::configuration(
            "no API key is set; nothing was sent: set PAYMENTS_API_KEY, or give --api-key-file or PAYMENTS_API_KEY_FILE",
        ))
    }
}

/// The key, its source and a warning about it.
pub(super) struct Key {
    text: Zeroizing<String>,
    pub(super) source: Source,
    /// If others can read the key's file, or if another key is set and not used.
    pub(super) warning: Option<String>,
    /// Whether another key is set too.
    pub(super) is_ambiguous: bool,
}

impl Key {
    /// Refuses a key that no header can hold.
    pub(super) fn checked(self) -> Result<(ApiKey, Self), Failure> {
        let key =
            ApiKey::new(&self.text).map_err(|error| Failure::from(error).hint(key_hint(self.source)))?;
        Ok((key, self))
    }
}

/// The hint for a refused key.
pub(crate) fn key_hint(source: Source) -> String {
    format!("the API key came from {source}")
}

fn key_file(path: &Path, source: Source) -> Result<Key, Failure> {
    let about_file = |what: &str| {
        let name = files::key_name_in_brackets(path);
        format!("{source}{name} {what}")
    };
    let refused = |why: &str| {
        let why = about_file(why);
        Failure::configuration(format!("{why}; nothing was sent: {FIX_THE_FILE}"))
    };
    let cannot_be_read = |error: io::Error| refused("cannot be read").with_cause(&error);
    let file = File::open(path).map_err(cannot_be_read)?;
    // The metadata of the open file: the path may lead to another file a moment later.
    let metadata = file.metadata().map_err(cannot_be_read)?;
    let warning = check_key_file(&metadata).map_err(refused)?.map(about_file);
    let bytes = files::read_up_to(file, LARGEST_KEY_FILE)
        .map_err(cannot_be_read)?
        .ok_or_else(|| refused("is too large to hold a key"))?;
    let key = std::str::from_utf8(&bytes).map_err(|_| refused("is not text"))?;
    let text = Zeroizing::new(without_final_newline(key).to_owned());
    Ok(Key { text, source, warning, is_ambiguous: false })
}

/// Removes the one newline that editors and `echo` add. A second one makes the key invalid.
fn without_final_newline(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// Larger than any key that fits in a header, and small enough to refuse a wrong file at once.
const LARGEST_KEY_FILE: usize = 16 * 1024;

/// A warning about a key file that others can read. The error is why it is refused: anyone who can write to it decides which
/// account the next charge goes to. One that can be read is not refused, because in containers, mounted secrets are often readable
/// by everyone.
#[cfg(unix)]
fn check_key_file(metadata: &Metadata) -> Result<Option<&'static str>, &'static str> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

    let user = rustix::process::geteuid().as_raw();
    // A terminal is writable by its group, but stores nothing.
    let stores_nothing = metadata.file_type().is_char_device();
    if let Some(why) = refusal_of(metadata.uid(), user, metadata.mode()).filter(|_| !stores_nothing) {
        return Err(why);
    }
    Ok((metadata.is_file() && metadata.mode() & 0o044 != 0).then_some(
        "can be read by others: unless they may have the key, run chmod 600 on it and replace the key",
    ))
}

#[cfg(unix)]
fn refusal_of(owner: u32, user: u32, mode: u32) -> Option<&'static str> {
    if owner != user && owner != ROOT {
        Some("belongs to another user: make it your own")
    } else if mode & 0o022 != 0 {
        Some("can be written by others: run chmod 600 on it, and check that its content is still right")
    } else {
        None
    }
}

#[cfg(unix)]
const ROOT: u32 = 0;

/// There are no permission bits to check.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "one signature for every platform")]
fn check_key_file(_: &Metadata) -> Result<Option<&'static str>, &'static str> {
    Ok(None)
}

/// The key of the calls, or why there is none, and all that are known. Only this reads a key from a pipe, which can be read once.
pub(crate) struct ReadKeys {
    pub(super) chosen: Result<Key, Failure>,
    pub(crate) known: KnownKeys,
}

impl ReadKeys {
    pub(crate) fn of(options: &ClientOptions) -> Self {
        let chosen = chosen(options);
        let known = KnownKeys::new(options.api_key_file.as_deref(), chosen.as_ref().ok());
        Self { chosen, known }
    }
}

/// The keys of the options and the environment: also those that are overridden, refused or invalid.
#[derive(Clone, Default)]
pub(crate) struct KnownKeys(Arc<[Zeroizing<String>]>);

impl KnownKeys {
    /// `file` is that of the option, and `chosen` the key that calls would use.
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
        if self.is_in(&failure.message) { failure.reworded(|message| self.mask(message)) } else { failure }
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn file_must_belong_to_the_user_or_root_and_be_writable_by_no_one_else() {
        for (owner, user, mode, may_be_used) in [
            (1000, 1000, 0o100_600, true),
            (1000, 1000, 0o100_644, true),
            (0, 1000, 0o100_644, true),
            (1001, 1000, 0o100_600, false),
            // Also refused for root: the file's owner would decide where root's charges go.
            (1000, 0, 0o100_600, false),
            (1000, 1000, 0o100_620, false),
            (1000, 1000, 0o100_602, false),
        ] {
            assert_eq!(refusal_of(owner, user, mode).is_none(), may_be_used, "{owner} {user} {mode:o}");
        }
    }
}
