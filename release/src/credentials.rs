//! Where the registry's token comes from: the environment or a credential provider, never a file in plain text and
//! never this command's arguments.

use anyhow::bail;
use serde_json::Value;

use crate::gates::Commit;
use crate::workspace::cargo;

/// Fails unless cargo will find a token without reading one from a file in plain text.
///
/// Only whether there is one is looked at: the token itself is cargo's.
pub(crate) fn must_be_safe(commit: &Commit) -> anyhow::Result<()> {
    let name = commit.registry.name.as_deref();
    let variable = name.map_or_else(
        || "CARGO_REGISTRY_TOKEN".to_owned(),
        |name| format!("CARGO_REGISTRIES_{}_TOKEN", name.to_ascii_uppercase().replace('-', "_")),
    );
    if std::env::var_os(&variable).is_some_and(|token| !token.is_empty()) {
        return Ok(());
    }
    let own = name.map_or_else(
        || "registry.credential-provider".to_owned(),
        |name| format!("registries.{name}.credential-provider"),
    );
    for key in [own.as_str(), "registry.global-credential-providers"] {
        if configured(commit, key).is_some_and(|providers| names_a_provider(&providers)) {
            return Ok(());
        }
    }
    bail!(
        "there is no token that could be used: set {variable} for this one command, or configure a credential provider \
         ({own}) that asks a keyring. A token in cargo's credentials file lies in plain text and is not used here"
    )
}

/// What cargo's configuration says, in whichever of its places.
fn configured(commit: &Commit, key: &str) -> Option<Value> {
    let call = ["config", "get", "-Z", "unstable-options", "--format", "json-value", key];
    // The one question that cargo answers only so; nothing is built with it.
    let asked =
        cargo(&commit.workspace.shell, call).env("RUSTC_BOOTSTRAP", "1").ignore_stderr().read().ok()?;
    serde_json::from_str(&asked).ok()
}

/// Whether any of them keeps its tokens elsewhere than in the file; `cargo:token` reads the file.
fn names_a_provider(providers: &Value) -> bool {
    let is_safe = |provider: &Value| {
        let program = provider.as_str().or_else(|| provider.as_array()?.first()?.as_str());
        program.is_some_and(|program| !program.is_empty() && program != "cargo:token")
    };
    match providers {
        Value::Array(several) => several.iter().any(is_safe),
        one => is_safe(one),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_file_in_plain_text_is_no_provider() {
        assert!(!names_a_provider(&json!(["cargo:token"])));
        assert!(!names_a_provider(&json!("cargo:token")));
        assert!(!names_a_provider(&json!([])));
        assert!(names_a_provider(&json!(["cargo:token", "cargo:libsecret"])));
        assert!(names_a_provider(&json!("cargo:token-from-stdout pass show token")));
    }
}
