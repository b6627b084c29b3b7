use std::path::PathBuf;
use std::process::ExitCode;

/// Runs a target on the files named on the command line. It is the `main` of every target's program in an ordinary build.
///
/// A broken property panics as under the fuzzer, with a message and a location.
#[allow(clippy::print_stdout, reason = "the program reports its result to the user")]
pub fn replay(run: fn(&[u8])) -> ExitCode {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        println!("name at least one input file");
        return ExitCode::FAILURE;
    }
    for path in paths {
        match std::fs::read(&path) {
            Ok(data) => run(&data),
            Err(error) => {
                println!("cannot read {}: {error}", path.display());
                return ExitCode::FAILURE;
            }
        }
        println!("{}: every property holds", path.display());
    }
    ExitCode::SUCCESS
}
