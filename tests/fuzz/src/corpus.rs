use std::fs;
use std::path::{Path, PathBuf};

use crate::Target;

/// The committed inputs of a target with their paths, sorted by path.
pub fn inputs(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let folders = std::iter::once(target.name).chain(target.also.iter().copied());
    let mut paths: Vec<PathBuf> = folders
        .flat_map(|folder| {
            let files = fs::read_dir(corpus.join(folder)).expect("every target has a corpus folder");
            files.map(|file| file.expect("the folder can be listed").path())
        })
        .collect();
    paths.sort_unstable();
    let read = |path: PathBuf| {
        let data = fs::read(&path).expect("an input can be read");
        (path, data)
    };
    paths.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use super::*;
    use crate::Mutation;

    /// The number of mutated inputs for each target. They take about a second in an unoptimized build.
    const MUTATED: usize = 400;

    macro_rules! corpus {
        ($($target:ident)*) => {
            $(
                #[test]
                fn $target() {
                    check(stringify!($target));
                }
            )*

            #[test]
            fn every_target_has_a_test_and_a_program() {
                let names = Target::ALL.map(|target| target.name);
                assert_eq!(names.as_slice(), [$(stringify!($target)),*]);
                for name in names {
                    let program = format!("{}/fuzz_targets/{name}.rs", env!("CARGO_MANIFEST_DIR"));
                    assert!(fs::read_to_string(program).unwrap().contains(&format!("payments_fuzz::{name}(data)")));
                }
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
            let mut mutation = Mutation::new(seed as u64);
            let (path, input) = &inputs[seed % inputs.len()];
            let other = &inputs[mutation.below(inputs.len())].1;
            let mutated = mutation.mutate(input, other);
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
}
