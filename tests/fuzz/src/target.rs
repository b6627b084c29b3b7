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

/// Defines every target, and a test of each with its corpus and mutated inputs.
macro_rules! targets {
    ($($module:ident::$name:ident $also:expr,)*) => {
        impl Target {
            /// Every target.
            pub const ALL: &[Self] = &[$(Self { name: stringify!($name), run: $module::$name, also: $also },)*];
        }

        #[cfg(test)]
        mod corpus {
            $(
                #[test]
                fn $name() {
                    super::tests::check(stringify!($name));
                }
            )*
        }
    };
}

targets! {
    responses::decode_ach_answer RESPONSES,
    responses::decode_card_answer RESPONSES,
    responses::decode_customer_answer RESPONSES,
    responses::decode_token_answer RESPONSES,
    responses::decode_transaction_answer RESPONSES,
    responses::decode_void_answer RESPONSES,
    gateway::handle_requests &[],
    fixtures::load_fixtures JSON,
    masking::mask_text JSON,
    requests::parse_ach_request JSON,
    requests::parse_card_request JSON,
    requests::parse_token_request JSON,
    requests::parse_void_request JSON,
    amounts::read_amount &[],
    endpoints::read_endpoint &[],
    faults::read_fault JSON,
    path_ids::read_path_id &[],
    records::read_record JSON,
    retry_after::read_retry_after &[],
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

    /// Runs the target on every input, then on mutated inputs that are the same in every run.
    pub(super) fn check(name: &str) {
        let target = Target::ALL.iter().find(|target| target.name == name).unwrap();
        let inputs = inputs(target);
        for (path, input) in &inputs {
            run(target, input, || path.display().to_string());
        }
        for seed in 0..MUTATED {
            let mut random = Random::new(seed as u64);
            let (path, input) = &inputs[seed % inputs.len()];
            let other = &inputs[random.below(inputs.len())].1;
            let mutated = random.mutate(input, other);
            run(target, &mutated, || {
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
