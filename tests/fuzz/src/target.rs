use crate::targets::{amounts, endpoints, faults, fixtures, gateway, masking, path_ids, records};
use crate::targets::{requests, responses, retry_after};

/// A function that takes any bytes and panics if a property does not hold.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Target {
    /// Its name, which its corpus folder has too.
    pub name: &'static str,
    /// Checks the properties for these bytes.
    pub run: fn(&[u8]),
    /// Other corpus folders whose inputs it also uses.
    pub also: &'static [&'static str],
}

impl Target {
    /// Every target.
    pub const ALL: [Self; 19] = [
        Self { name: "decode_ach_answer", run: responses::decode_ach_answer, also: RESPONSES },
        Self { name: "decode_card_answer", run: responses::decode_card_answer, also: RESPONSES },
        Self { name: "decode_customer_answer", run: responses::decode_customer_answer, also: RESPONSES },
        Self { name: "decode_token_answer", run: responses::decode_token_answer, also: RESPONSES },
        Self {
            name: "decode_transaction_answer",
            run: responses::decode_transaction_answer,
            also: RESPONSES,
        },
        Self { name: "decode_void_answer", run: responses::decode_void_answer, also: RESPONSES },
        Self { name: "handle_requests", run: gateway::handle_requests, also: &[] },
        Self { name: "load_fixtures", run: fixtures::load_fixtures, also: JSON },
        Self { name: "mask_text", run: masking::mask_text, also: JSON },
        Self { name: "parse_ach_request", run: requests::parse_ach_request, also: JSON },
        Self { name: "parse_card_request", run: requests::parse_card_request, also: JSON },
        Self { name: "parse_token_request", run: requests::parse_token_request, also: JSON },
        Self { name: "parse_void_request", run: requests::parse_void_request, also: JSON },
        Self { name: "read_amount", run: amounts::read_amount, also: &[] },
        Self { name: "read_endpoint", run: endpoints::read_endpoint, also: &[] },
        Self { name: "read_fault", run: faults::read_fault, also: JSON },
        Self { name: "read_path_id", run: path_ids::read_path_id, also: &[] },
        Self { name: "read_record", run: records::read_record, also: JSON },
        Self { name: "read_retry_after", run: retry_after::read_retry_after, also: &[] },
    ];
}

/// Whole responses, and JSON documents of every form.
const RESPONSES: &[&str] = &["answers", "json"];
const JSON: &[&str] = &["json"];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::random::Random;

    /// The number of mutated inputs for each target. They take about a second in an unoptimized build.
    const MUTATED: usize = 800;

    macro_rules! corpus {
        ($($target:ident)*) => {
            $(
                #[test]
                fn $target() {
                    check(stringify!($target));
                }
            )*

            #[test]
            fn every_target_has_a_test() {
                assert_eq!(Target::ALL.map(|target| target.name), [$(stringify!($target)),*]);
            }
        };
    }

    corpus! {
        decode_ach_answer
        decode_card_answer
        decode_customer_answer
        decode_token_answer
        decode_transaction_answer
        decode_void_answer
        handle_requests
        load_fixtures
        mask_text
        parse_ach_request
        parse_card_request
        parse_token_request
        parse_void_request
        read_amount
        read_endpoint
        read_fault
        read_path_id
        read_record
        read_retry_after
    }

    /// Runs the target on every input, then on mutated inputs that are the same in every run.
    fn check(name: &str) {
        let target = Target::ALL.into_iter().find(|target| target.name == name).unwrap();
        let inputs = inputs(&target);
        for (path, input) in &inputs {
            run(&target, input, || path.display().to_string());
        }
        for seed in 0..MUTATED {
            let mut random = Random::new(seed as u64);
            let (path, input) = &inputs[seed % inputs.len()];
            let other = &inputs[random.below(inputs.len())].1;
            let mutated = random.mutate(input, other);
            run(&target, &mutated, || {
                format!("{} mutated with seed {seed}: \"{}\"", path.display(), mutated.escape_ascii())
            });
        }
    }

    fn run(target: &Target, input: &[u8], name: impl FnOnce() -> String) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.run)(input))) {
            eprintln!("a property of {} does not hold for {}", target.name, name());
            resume_unwind(panic);
        }
    }

    /// The committed inputs of a target with their paths, sorted by path.
    fn inputs(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        let folders = std::iter::once(target.name).chain(target.also.iter().copied());
        let files = folders.flat_map(|folder| fs::read_dir(corpus.join(folder)).unwrap());
        let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        paths.sort_unstable();
        paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }
}
