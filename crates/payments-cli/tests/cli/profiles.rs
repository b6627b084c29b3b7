//! Profiles: which one applies, what it sets, and which files are refused.

use std::fs;
use std::path::PathBuf;

use crate::support::{Ended, KEY, Peer, Run, TemporaryFile, Then, payments, responses};

/// A configuration folder with a file of profiles.
struct Configuration {
    folder: tempfile::TempDir,
}

impl Configuration {
    fn new(content: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let this = Self { folder };
        fs::create_dir(this.folder.path().join("payments")).expect("it is writable");
        fs::write(this.file(), content).expect("it is writable");
        #[cfg(unix)]
        this.permit(0o600);
        this
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("payments").join("config.toml")
    }

    fn home(&self) -> &str {
        self.folder.path().to_str().expect("a plain path")
    }

    #[cfg(unix)]
    fn permit(&self, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;

        fs::set_permissions(self.file(), fs::Permissions::from_mode(mode)).expect("it is the test's own");
    }

    /// A lookup with this configuration folder.
    fn lookup<'a>(&'a self, more: impl IntoIterator<Item = &'a str>) -> Run {
        payments(["transaction", "get", "txn_1"]).env("XDG_CONFIG_HOME", self.home()).arguments(more)
    }

    /// The message of a lookup that is refused because of the file. Checks that no value of the file is shown.
    #[track_caller]
    fn refused(&self, more: &[&str]) -> String {
        let ended = self.lookup(more.iter().copied()).end();
        let error = ended.failed(2, "invalid");
        assert_eq!(error["kind"], "configuration", "{error}");
        for canary in [KEY, "canary"] {
            assert!(!ended.stdout.contains(canary) && !ended.stderr.contains(canary), "{ended:?}");
        }
        error["message"].as_str().expect("a text").to_owned()
    }
}

fn found() -> Peer {
    Peer::responding("200 OK", responses::TRANSACTION_FOUND)
}

#[track_caller]
fn assert_sent_with_key(peer: &Peer, ended: &Ended, key: &str) {
    ended.processed();
    assert!(peer.request().contains(&format!("authorization: {key}\r\n")));
}

#[test]
fn profile_is_chosen_by_option_or_variable() {
    let (one, two) = (found(), found());
    let configuration = Configuration::new(format!(
        "[profiles.one]\nbase_url = '{}'\napi_key = 'key_one'\n\n\
         [profiles.two]\nbase_url = \"{}\"\napi_key = \"key_two\"\ntimeout = 30\n",
        one.base_url, two.base_url
    ));
    assert_sent_with_key(&one, &configuration.lookup(["--profile", "one"]).end(), "key_one");
    assert_sent_with_key(&two, &configuration.lookup([]).env("PAYMENTS_PROFILE", "two").end(), "key_two");
    // The option overrides the variable, before or after the command.
    let ended = configuration.lookup(["--profile", "one"]).env("PAYMENTS_PROFILE", "two").end();
    assert_sent_with_key(&one, &ended, "key_one");
    let ended = payments(["--profile", "one", "transaction", "get", "txn_1"])
        .env("XDG_CONFIG_HOME", configuration.home())
        .end();
    assert_sent_with_key(&one, &ended, "key_one");
}

#[test]
fn no_profile_is_chosen_by_default() {
    let peer = Peer::new(Then::Close);
    let configuration = Configuration::new(format!(
        "[profiles.default]\nbase_url = '{}'\napi_key = '{KEY}'\n",
        peer.base_url
    ));
    for run in [configuration.lookup([]), configuration.lookup([]).env("PAYMENTS_PROFILE", "")] {
        let error = run.end().failed(2, "invalid");
        assert!(error["message"].as_str().unwrap().contains("choose a --profile"), "{error}");
    }
    assert_eq!(peer.requests_left(), 0);
    // Without a chosen profile the file is not even read.
    let broken = Configuration::new("[[[");
    let run = broken.lookup([]).env("PAYMENTS_BASE_URL", "http://127.0.0.1:1").env("PAYMENTS_API_KEY", KEY);
    run.end().failed(3, "not_processed");
}

#[test]
fn option_overrides_environment_overrides_profile() {
    let (right, wrong) = (found(), Peer::new(Then::Close));
    let key = TemporaryFile::new("key_of_flag");
    let configuration = Configuration::new(format!(
        "[profiles.p]\nbase_url = '{}'\napi_key = 'key_of_profile'\n",
        wrong.base_url
    ));
    let chosen = || configuration.lookup(["--profile", "p"]);
    let by_variable = || chosen().env("PAYMENTS_BASE_URL", &right.base_url);
    assert_sent_with_key(&right, &by_variable().end(), "key_of_profile");
    assert_sent_with_key(
        &right,
        &chosen().arguments(["--base-url", &right.base_url]).end(),
        "key_of_profile",
    );
    assert_sent_with_key(
        &right,
        &by_variable().env("PAYMENTS_API_KEY", "key_of_variable").end(),
        "key_of_variable",
    );
    let file = TemporaryFile::new("key_of_file");
    assert_sent_with_key(
        &right,
        &by_variable().env("PAYMENTS_API_KEY_FILE", file.path()).end(),
        "key_of_file",
    );
    let flagged = by_variable().env("PAYMENTS_API_KEY", "k").arguments(["--api-key-file", key.path()]);
    assert_sent_with_key(&right, &flagged.end(), "key_of_flag");
    assert_eq!(wrong.requests_left(), 0);
}

#[test]
fn profile_paths_are_relative_to_its_file() {
    let peer = found();
    let configuration = Configuration::new(format!(
        "[profiles.relative]\nbase_url = '{0}'\napi_key_file = 'keys/one'\n\n\
         [profiles.missing]\nbase_url = '{0}'\napi_key_file = '{KEY}'\n\n\
         [profiles.authority]\nbase_url = '{0}'\napi_key = 'k'\nca_cert = 'none.pem'\n",
        peer.base_url
    ));
    let keys = configuration.folder.path().join("payments").join("keys");
    fs::create_dir(&keys).unwrap();
    fs::write(keys.join("one"), "key_in_file\n").unwrap();
    assert_sent_with_key(&peer, &configuration.lookup(["--profile", "relative"]).end(), "key_in_file");
    // A key where its file belongs is not repeated.
    let message = configuration.refused(&["--profile", "missing"]);
    assert!(message.starts_with("the file of api_key_file in profile missing of /"), "{message}");
    let message = configuration.refused(&["--profile", "authority"]);
    assert!(message.contains("the file of ca_cert in profile authority of /"), "{message}");
    assert!(message.contains("none.pem) cannot be read"), "{message}");
}

#[test]
fn config_file_falls_back_to_home() {
    let peer = found();
    let configuration = Configuration::new("");
    let content = format!("[profiles.p]\nbase_url = '{}'\napi_key = 'key_at_home'\n", peer.base_url);
    let folder = configuration.folder.path().join(".config").join("payments");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), content).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(folder.join("config.toml"), mode).unwrap();
    }
    // An empty or relative folder counts as unset.
    for other in ["", "relative/folder"] {
        let run = payments(["transaction", "get", "txn_1", "--profile", "p"])
            .env("XDG_CONFIG_HOME", other)
            .env("HOME", configuration.home());
        assert_sent_with_key(&peer, &run.end(), "key_at_home");
    }
    let run = payments(["transaction", "get", "txn_1", "--profile", "p"])
        .env("XDG_CONFIG_HOME", "")
        .env("HOME", "");
    let error = run.end().failed(2, "invalid");
    assert!(error["message"].as_str().unwrap().contains("set XDG_CONFIG_HOME or HOME"), "{error}");
}

#[test]
fn profile_deadline_is_kept() {
    let peer = Peer::new(Then::Wait);
    let configuration = Configuration::new(format!(
        "[profiles.p]\nbase_url = '{}'\napi_key = 'k'\ntimeout = 1.5\n",
        peer.base_url
    ));
    let error = configuration.lookup(["--profile", "p"]).end().failed(3, "not_processed");
    assert_eq!(error["kind"], "timeout");
}

#[cfg(unix)]
#[test]
fn config_with_a_key_that_others_can_read_is_refused() {
    let with_key =
        Configuration::new(format!("[profiles.p]\nbase_url = 'http://127.0.0.1:1'\napi_key = '{KEY}'\n"));
    // The key of another profile is at risk too.
    let other_profile = Configuration::new(format!(
        "[profiles.other]\napi_key = '{KEY}'\n[profiles.p]\nbase_url = 'http://127.0.0.1:1'\n"
    ));
    for mode in [0o640, 0o604, 0o660, 0o606, 0o644, 0o610] {
        for configuration in [&with_key, &other_profile] {
            configuration.permit(mode);
            let message = configuration.refused(&["--profile", "p"]);
            assert!(message.contains("chmod 600"), "{mode:o}: {message}");
        }
    }
    with_key.permit(0o400);
    with_key.lookup(["--profile", "p"]).end().failed(3, "not_processed");
}

#[cfg(unix)]
#[test]
fn config_without_a_key_may_be_readable_but_not_writable_by_others() {
    let configuration = Configuration::new("[profiles.p]\nbase_url = 'http://127.0.0.1:1'\n");
    configuration.permit(0o644);
    let run = || configuration.lookup(["--profile", "p"]).env("PAYMENTS_API_KEY", KEY);
    run().end().failed(3, "not_processed");
    // Someone who can write the address can get the key.
    for mode in [0o664, 0o646] {
        configuration.permit(mode);
        let error = run().end().failed(2, "invalid");
        assert!(error["message"].as_str().unwrap().contains("can be written by others"), "{error}");
    }
}

#[test]
fn config_errors_name_line_and_setting_but_no_value() {
    for (content, parts) in [
        ("[profiles.p]\napi_key = \"canary\nbase_url = 'x'", &["is not valid TOML at line 2"][..]),
        (
            "[profiles.p]\napi-key = 'canary'",
            &[
                "line 2: api-key is not a setting",
                "base_url, api_key, api_key_file, timeout, ca_cert and proxy",
            ],
        ),
        ("[profiles.p]\n'canary 1' = 1", &["line 2: \"canary 1\" is not a setting"]),
        ("[p]\napi_key = 'canary'", &["line 1: p is not in a profile: write [profiles.NAME]"]),
        ("base_url = 'canary'", &["line 1: base_url is not in a profile"]),
        ("profiles = 'canary'", &["line 1: profiles is not in a profile"]),
        ("[profiles]\np = 'canary'", &["line 2: p is not a table: write [profiles.p]"]),
        (
            "[profiles.p]\nbase_url = 1\ntimeout = 'canary'",
            &["line 2: base_url must be a string", "line 3: timeout must be a number"],
        ),
        ("[profiles.p]\ntimeout = 0", &["line 2: timeout must be a number of seconds above 0"]),
        ("[profiles.p]\ntimeout = -1.0", &["line 2: timeout must be a number of seconds above 0"]),
        ("[profiles.p]\ntimeout = inf", &["line 2: timeout must be a number of seconds above 0"]),
        (
            "[profiles.p]\napi_key = 'canary'\napi_key_file = 'canary'",
            &["line 3: api_key and api_key_file exclude each other"],
        ),
        ("[profiles.p]\n[profiles.q]\nkey = 'canary'", &["line 3: key is not a setting"]),
        ("[profiles.'canary 2']\n", &["line 1: a profile's name"]),
        (
            "[profiles.sandbox]\n[profiles.production]\napi_key = 'canary'",
            &["has no such profile: choose one of production, sandbox"],
        ),
        ("", &["has no profile"]),
        ("[profiles.p]\napi_key = 'canary'", &["give profile p of /", "a base_url"]),
    ] {
        let message = Configuration::new(content).refused(&["--profile", "p"]);
        for part in parts {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(message.contains("nothing was sent"), "{message}");
    }
    let message = Configuration::new(b"[profiles.p]\napi_key = '\xff'").refused(&["--profile", "p"]);
    assert!(message.contains("is not UTF-8"), "{message}");
    let message = Configuration::new("#".repeat(64 * 1024 + 1)).refused(&["--profile", "p"]);
    assert!(message.contains("is larger than 64 KiB"), "{message}");
}

#[test]
fn unknown_profile_name_is_not_repeated() {
    let configuration = Configuration::new("[profiles.sandbox]\n");
    for name in [KEY, ""] {
        let message = configuration.refused(&["--profile", name]);
        assert!(message.contains("has no such profile: choose one of sandbox"), "{message}");
    }
}

#[test]
fn profile_without_a_config_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = payments(["transaction", "get", "txn_1", "--profile", "p"])
        .env("XDG_CONFIG_HOME", folder.path().to_str().unwrap());
    let error = run.end().failed(2, "invalid");
    assert!(error["message"].as_str().unwrap().contains("config.toml) cannot be read"), "{error}");
    assert!(error["cause"].is_string(), "{error}");
}

#[test]
fn variable_that_overrides_the_profile_gets_a_warning_in_text_only() {
    let peer = found();
    let configuration =
        Configuration::new("[profiles.p]\nbase_url = 'http://127.0.0.1:1'\napi_key = 'key_of_profile'\n");
    let run = || {
        configuration
            .lookup(["--profile", "p"])
            .env("PAYMENTS_BASE_URL", &peer.base_url)
            .env("PAYMENTS_API_KEY", KEY)
    };
    let in_text = run().arguments(["--output", "text"]).end();
    for (line, variable, what) in [(0, "PAYMENTS_BASE_URL", "base URL"), (1, "PAYMENTS_API_KEY", "key")] {
        let line = in_text.stderr.lines().nth(line).unwrap_or_default();
        let start = format!("WARNING: {variable} is set and overrides the {what} of profile p of /");
        assert!(line.starts_with(&start), "{line}");
    }
    run().end().processed();
    let chosen_by_hand = run().env("PAYMENTS_BASE_URL", "").env("PAYMENTS_API_KEY", "");
    let ended = chosen_by_hand.arguments(["--output", "text", "--base-url", &peer.base_url]).end();
    assert_eq!(ended.stderr, "", "an option needs no warning");
}

#[test]
fn text_failure_names_the_profile() {
    let peer = Peer::responding("401 Unauthorized", responses::UNAUTHORIZED);
    let configuration = Configuration::new(format!(
        "[profiles.refused]\nbase_url = '{}'\napi_key = '{KEY}'\n[profiles.nobody]\nbase_url = 'http://127.0.0.1:1'\napi_key = '{KEY}'\n",
        peer.base_url
    ));
    for (name, hint) in [
        ("refused", "the API key came from profile refused of /"),
        ("nobody", "the base URL came from profile nobody of /"),
    ] {
        let ended = configuration.lookup(["--profile", name, "--output", "text"]).end();
        assert!(ended.stderr.contains(hint), "{}", ended.stderr);
        assert!(!ended.stderr.contains(KEY), "{}", ended.stderr);
    }
}

#[cfg(unix)]
#[test]
fn config_example_in_the_help_is_valid() {
    let help = payments(["help", "settings"]).end().stdout;
    let example = help.split_once("chooses one:\n").and_then(|(_, rest)| rest.split_once("  All six"));
    let (example, _) = example.unwrap_or_else(|| panic!("an example in {help}"));
    let configuration = Configuration::new(example);
    let run = configuration.lookup(["--profile", "sandbox", "--dry-run"]);
    let ended = run.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let url = &ended.json()["request"]["url"];
    assert_eq!(url, "http://127.0.0.1:8080/api/v1/public/transaction/txn_1");
    let message = configuration.refused(&["--profile", "production"]);
    assert!(message.contains("api_key_file in profile production"), "{message}");
}
