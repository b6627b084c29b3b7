//! `cargo xtask release`: takes the workspace to a registry.

use anyhow::bail;

use crate::flags::{Release, ReleaseCmd};
use crate::workspace::{cargo, shell};

/// Lets the release speak; what stopped it is an error of this task.
pub(crate) fn run(asked: &Release) -> anyhow::Result<()> {
    let call = call(&asked.subcommand);
    if cargo(&shell()?, call.iter().map(String::as_str)).run().is_err() {
        bail!("there is no release: see above");
    }
    Ok(())
}

fn call(asked: &ReleaseCmd) -> Vec<String> {
    let call = "run --locked --quiet --package payments-release --";
    let mut call: Vec<String> = call.split(' ').map(str::to_owned).collect();
    let mut add = |words: &[&str]| call.extend(words.iter().copied().map(str::to_owned));
    let (verb, execute, registry, patience) = match asked {
        ReleaseCmd::Prepare(asked) => {
            add(&["prepare", &asked.bump]);
            (None, asked.execute, None, None)
        }
        ReleaseCmd::Check(asked) => {
            add(&["check"]);
            asked.only.iter().for_each(|title| add(&["--only", title]));
            (None, false, asked.registry.as_deref(), None)
        }
        ReleaseCmd::Api(asked) => {
            add(&["api"]);
            add(if asked.check { &["--check"] } else { &[] });
            (None, false, None, None)
        }
        ReleaseCmd::Publish(asked) => {
            (Some("publish"), asked.execute, asked.registry.as_deref(), asked.patience)
        }
    };
    add(verb.as_slice());
    if execute {
        add(&["--execute"]);
    }
    if let Some(registry) = registry {
        add(&["--registry", registry]);
    }
    if let Some(patience) = patience {
        add(&["--patience", &patience.to_string()]);
    }
    call
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{Api, Check, Prepare, Publish};

    #[test]
    fn what_was_asked_is_handed_on() {
        let handed = |asked: &ReleaseCmd| call(asked).join(" ").split_once(" -- ").unwrap().1.to_owned();
        let prepare = Prepare { bump: "minor".to_owned(), execute: true };
        assert_eq!(handed(&ReleaseCmd::Prepare(prepare)), "prepare minor --execute");
        assert_eq!(handed(&ReleaseCmd::Check(Check { registry: None, only: Vec::new() })), "check");
        let only = vec!["a gate".to_owned(), "another".to_owned()];
        let check = Check { registry: Some("house".to_owned()), only };
        assert_eq!(handed(&ReleaseCmd::Check(check)), "check --only a gate --only another --registry house");
        assert_eq!(handed(&ReleaseCmd::Api(Api { check: false })), "api");
        assert_eq!(handed(&ReleaseCmd::Api(Api { check: true })), "api --check");
        let publish = Publish { execute: true, registry: Some("house".to_owned()), patience: Some(60) };
        assert_eq!(handed(&ReleaseCmd::Publish(publish)), "publish --execute --registry house --patience 60");
        let publish = Publish { execute: false, registry: None, patience: None };
        assert_eq!(handed(&ReleaseCmd::Publish(publish)), "publish");
    }
}
