use std::path::PathBuf;
use std::process::ExitCode;

/// Puts the files that the command line names to a target: the `main` of every target's program in an ordinary build.
///
/// A broken property panics as it does under the fuzzer, with a message and a place.
#[allow(clippy::print_stdout, reason = "the person who ran it waits for a word")]
pub fn replay(run: fn(&[u8])) -> ExitCode {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        println!("give the files to put to this target");
        return ExitCode::FAILURE;
    }
    for path in paths {
        match std::fs::read(&path) {
            Ok(data) => run(&data),
            Err(error) => {
                println!("{} cannot be read: {error}", path.display());
                return ExitCode::FAILURE;
            }
        }
        println!("{}: every property holds", path.display());
    }
    ExitCode::SUCCESS
}
