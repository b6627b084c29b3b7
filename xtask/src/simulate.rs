//! `cargo xtask simulate`: a seeded search for a broken promise, in a release build.

use anyhow::bail;

use crate::flags::Simulate;
use crate::workspace::{cargo, shell};

/// Lets the simulation speak; what it found is an error of this task.
pub(crate) fn run(asked: &Simulate) -> anyhow::Result<()> {
    let call = call(asked);
    println!("$ cargo {}    (the first time it builds for minutes)", call.join(" "));
    if cargo(&shell()?, call.iter().map(String::as_str)).run().is_err() {
        bail!("a promise is broken, or the simulation could not run: see above");
    }
    Ok(())
}

fn call(asked: &Simulate) -> Vec<String> {
    let Simulate { charges, seed, threads, sabotage, only, coverage } = asked;
    let call = "run --release --locked --quiet --package payments-simulation --";
    let mut call: Vec<String> = call.split(' ').map(str::to_owned).collect();
    let numbers = [("--charges", charges), ("--seed", seed), ("--threads", threads)];
    let numbers = numbers.map(|(name, number)| (name, number.map(|number| number.to_string())));
    let names = [("--sabotage", sabotage.clone()), ("--only", only.clone())];
    for (name, text) in numbers.into_iter().chain(names) {
        call.extend(text.into_iter().flat_map(|text| [name.to_owned(), text]));
    }
    call.extend(coverage.then(|| "--coverage".to_owned()));
    call
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_is_handed_on() {
        let everything = Simulate {
            charges: Some(250),
            seed: Some(7),
            threads: Some(2),
            sabotage: Some("sends-twice".to_owned()),
            only: Some("ends-in-time".to_owned()),
            coverage: true,
        };
        let asked =
            "--charges 250 --seed 7 --threads 2 --sabotage sends-twice --only ends-in-time --coverage";
        assert!(call(&everything).join(" ").ends_with(&format!("payments-simulation -- {asked}")));
        let nothing = Simulate {
            charges: None,
            seed: None,
            threads: None,
            sabotage: None,
            only: None,
            coverage: false,
        };
        assert_eq!(call(&nothing).last().map(String::as_str), Some("--"));
    }
}
