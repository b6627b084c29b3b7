//! What a command under test takes from nobody's environment.

use std::process::Command;

/// Removes the settings of this process.
pub(crate) fn remove_settings(command: &mut Command) {
    for name in ["BASE_URL", "API_KEY", "API_KEY_FILE", "MERCHANT", "TIMEOUT", "CA_CERT", "PROXY", "JOURNAL"]
    {
        command.env_remove(format!("PAYMENTS_{name}"));
    }
    command.env_remove("PAYMENTS_JOURNAL_MUST_EXIST");
    command.env_remove("PAYMENTS_JOURNAL_WITNESS").env_remove("NO_COLOR");
}
