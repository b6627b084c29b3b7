//! Tokens come from the environment or from a credential provider, not from a plain-text file.

use std::fs;

use crate::world::{PUBLISH, World};

const NONE: [(&str, &str); 1] = [("CARGO_REGISTRIES_LOCAL_TOKEN", "")];

#[test]
fn without_a_token_no_gate_runs() {
    let Some(world) = World::prepared() else { return };
    let before = world.state();
    world.release_with(PUBLISH, &NONE).fails(&["no token", "CARGO_REGISTRIES_LOCAL_TOKEN"]);
    // A token in plain text does not count.
    let file = format!("[registries.{}]\ntoken = \"plain\"\n", crate::world::NAME);
    fs::write(world.path("cargo/credentials.toml"), file).unwrap();
    world.release_with(PUBLISH, &NONE).fails(&["no token", "plain text"]);
    world.configure_cargo("[registry]\nglobal-credential-providers = [\"cargo:token\"]\n");
    world.release_with(PUBLISH, &NONE).fails(&["no token", "plain text"]);
    // No gate has run.
    assert!(!world.path("steps").exists());
    assert_eq!(world.state(), before);
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn a_credential_provider_wins_over_a_plain_text_token() {
    let Some(world) = World::signed() else { return };
    let file = format!("[registries.{}]\ntoken = \"plain\"\n", crate::world::NAME);
    fs::write(world.path("cargo/credentials.toml"), file).unwrap();
    world.put_program("keyring", "echo from the keyring");
    world.configure_cargo(
        "[registry]\nglobal-credential-providers = [\"cargo:token\", \"cargo:token-from-stdout keyring\"]\n",
    );
    world.release_with(PUBLISH, &NONE).succeeds(&["pushed main and v0.2.0"]);
    assert!(
        world.registry.uploads().iter().all(|upload| upload.token.as_deref() == Some("from the keyring"))
    );
}

#[test]
fn a_token_in_the_environment_wins_over_the_configuration() {
    let Some(world) = World::signed() else { return };
    world.put_program("keyring", "exit 1");
    world
        .configure_cargo("[registry]\nglobal-credential-providers = [\"cargo:token-from-stdout keyring\"]\n");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
}

#[test]
fn no_build_script_sees_the_token() {
    let Some(world) = World::new() else { return };
    let seen = world.path("seen");
    let script = format!(
        "fn main() {{\n    let seen = std::env::vars().any(|(name, _)| name.ends_with(\"_TOKEN\"));\n    \
         std::fs::write({seen:?}, seen.to_string()).unwrap();\n}}\n"
    );
    world.write("crates/chain-a/build.rs", &script);
    world.commit_all("Script");
    world.release("prepare minor --execute").succeeds(&[]);
    world.sign("v0.2.0", "Release 0.2.0\n\nRelease-Check: passed\n");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    assert_eq!(fs::read_to_string(seen).unwrap(), "false");
}
