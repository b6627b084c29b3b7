use std::fs;
use std::path::{Path, PathBuf};

use crate::Target;

/// The committed inputs of a target, with their paths, in the order of these.
pub fn inputs(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let folders = std::iter::once(target.name).chain(target.also.iter().copied());
    let mut paths: Vec<PathBuf> = folders
        .flat_map(|folder| {
            let files = fs::read_dir(corpus.join(folder)).expect("every target has a folder");
            files.map(|file| file.expect("a folder can be listed").path())
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

    /// Changed inputs for each target: as many as a second or so has room for in a build that is not optimised.
    const CHANGED: usize = 400;

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

    /// Every input as it is, and then changed ones that are the same in every run.
    fn check(name: &str) {
        let target = Target::ALL.into_iter().find(|target| target.name == name).unwrap();
        let inputs = inputs(&target);
        for (path, input) in &inputs {
            run(&target, input, || path.display().to_string());
        }
        for seed in 0..CHANGED {
            let mut mutation = Mutation::new(seed as u64);
            let (path, input) = &inputs[seed % inputs.len()];
            let other = &inputs[mutation.below(inputs.len())].1;
            let changed = mutation.mutate(input, other);
            run(&target, &changed, || {
                format!("{} changed by seed {seed}: \"{}\"", path.display(), changed.escape_ascii())
            });
        }
    }

    fn run(target: &Target, input: &[u8], name: impl FnOnce() -> String) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.run)(input))) {
            eprintln!("{} does not hold for {}", target.name, name());
            resume_unwind(panic);
        }
    }
}
