//! Where the registry's token comes from: the environment or a credential provider, never a file in plain text and
//! never this command's arguments.

use anyhow::bail;
use serde_json::Value;

use crate::gates::Commit;

/// The one provider that cargo is to ask. Left to itself it would go on to the next that it knows, and with the first of
/// all to the file.
#[derive(Debug)]
pub(crate) struct Credentials {
    /// The variable of the environment in which cargo is told of it.
    pub(crate) variable: String,
    /// As cargo's configuration writes it.
    pub(crate) provider: String,
}

/// The provider that reads the environment, and the file where the environment says nothing.
const OF_THE_ENVIRONMENT: &str = "cargo:token";

impl Credentials {
    /// Fails unless there is a provider that reads no file in plain text.
    ///
    /// Only whether there is a token in the environment is looked at: the token itself is cargo's.
    pub(crate) fn find(commit: &Commit) -> anyhow::Result<Self> {
        let (variables, own) = match commit.registry.name.as_deref() {
            None => ("CARGO_REGISTRY".to_owned(), "registry.credential-provider".to_owned()),
            Some(name) => {
                let in_capitals = name.to_ascii_uppercase().replace('-', "_");
                (format!("CARGO_REGISTRIES_{in_capitals}"), format!("registries.{name}.credential-provider"))
            }
        };
        let (token, variable) = (format!("{variables}_TOKEN"), format!("{variables}_CREDENTIAL_PROVIDER"));
        if std::env::var_os(&token).is_some_and(|token| !token.is_empty()) {
            return Ok(Self { variable, provider: OF_THE_ENVIRONMENT.to_owned() });
        }
        // Its own provider is the only one that cargo asks for a registry that has one.
        let alias = |name: &str| commit.workspace.configured(&format!("credential-alias.{name}"));
        let provider = match commit.workspace.configured(&own) {
            Some(own) => own_provider(&own, &alias),
            None => commit
                .workspace
                .configured("registry.global-credential-providers")
                .and_then(|all| last_provider(&all, &alias)),
        };
        if let Some(provider) = provider {
            return Ok(Self { variable, provider });
        }
        bail!(
            "there is no token that could be used: set {token} for this one command, or configure a credential provider \
             ({own}) that asks a keyring. A token in cargo's credentials file lies in plain text and is not used here"
        )
    }
}

/// What stands for a word that is the whole of a provider.
type Alias<'a> = dyn Fn(&str) -> Option<Value> + 'a;

/// One provider, as a line or as its words, unless it reads the file, by this name or another.
fn own_provider(provider: &Value, alias: &Alias<'_>) -> Option<String> {
    let line = line(provider)?;
    let meant = match alias(&line).filter(|_| !line.contains(' ')) {
        Some(meant) => self::line(&meant)?,
        None => line.clone(),
    };
    let program = meant.split_whitespace().next()?;
    (program != OF_THE_ENVIRONMENT).then_some(line)
}

fn line(provider: &Value) -> Option<String> {
    Some(match provider {
        Value::Array(words) => words.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?.join(" "),
        line => line.as_str()?.to_owned(),
    })
}

/// Of several, each a line, the one that cargo would ask first and that does not read the file: later ones come first.
fn last_provider(providers: &Value, alias: &Alias<'_>) -> Option<String> {
    providers.as_array()?.iter().rev().find_map(|provider| own_provider(provider, alias))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_file_in_plain_text_is_no_provider() {
        let own = |value: Value| own_provider(&value, &|_| None);
        assert_eq!(own(json!("cargo:token")), None);
        assert_eq!(own(json!(["cargo:token"])), None);
        assert_eq!(own(json!([])), None);
        assert_eq!(own(json!(["pass-provider", "--vault", "x"])).as_deref(), Some("pass-provider --vault x"));
        let last = |value: Value| last_provider(&value, &|_| None);
        assert_eq!(last(json!(["cargo:token"])), None);
        assert_eq!(last(json!(["cargo:token", "cargo:libsecret"])).as_deref(), Some("cargo:libsecret"));
        assert_eq!(last(json!(["a", "b", "cargo:token"])).as_deref(), Some("b"));
        let alias = |name: &str| (name == "mine").then(|| json!(["cargo:token"]));
        assert_eq!(own_provider(&json!("mine"), &alias), None);
        assert_eq!(own_provider(&json!("other"), &alias).as_deref(), Some("other"));
        let from_stdout = "cargo:token-from-stdout pass show token";
        assert_eq!(last(json!([from_stdout])).as_deref(), Some(from_stdout));
    }
}
