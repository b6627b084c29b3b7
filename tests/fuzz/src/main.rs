//! Runs the target that `FUZZ_TARGET` names: on the inputs that libFuzzer tries, or in an ordinary build on the files that the
//! command line names. A broken property panics, with a message and a location.

#![cfg_attr(fuzzing, no_main)]
#![allow(clippy::print_stdout, reason = "the program reports its result to the user")]

use std::sync::LazyLock;

use payments_fuzz::Target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = Target::ALL.iter().copied().find(|target| target.name == name);
    let names = || Target::ALL.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    found.unwrap_or_else(|| panic!("set FUZZ_TARGET to one of {}", names()))
});

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.run)(data));

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        (TARGET.run)(&std::fs::read(&path)?);
        println!("{}: every property holds", path.display());
    }
    Ok(())
}
