use std::process::Command;
use std::thread::available_parallelism;
use std::time::SystemTime;

use serde_json::{Value, json};

/// Where and when something was measured: without it a figure says nothing.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Such as `2026-11-22`, of UTC.
    date: String,
    processor: String,
    cores: usize,
    rustc: String,
    profile: &'static str,
}

impl Machine {
    /// This one, now. What it does not tell is "unknown".
    pub(crate) fn here() -> Self {
        let mut date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        date.truncate("2026-11-22".len());
        let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            date,
            processor: processor(&about).unwrap_or_else(unknown),
            cores: available_parallelism().map_or(0, usize::from),
            rustc: rustc(),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" },
        }
    }

    pub(super) fn json(&self) -> Value {
        let Self { date, processor, cores, rustc, profile } = self;
        json!({ "date": date, "processor": processor, "cores": cores, "rustc": rustc, "profile": profile })
    }
}

/// The compiler of this workspace, such as `rustc 1.95.0 (59807616e 2026-04-14)`.
fn rustc() -> String {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(program).arg("--version").current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let version = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    version
        .map(|version| version.trim().to_owned())
        .filter(|version| !version.is_empty())
        .unwrap_or_else(unknown)
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn processor(about: &str) -> Option<String> {
    let name = about.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'))?.1;
    Some(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_processor_is_found() {
        let about =
            "processor\t: 0\nmodel\t\t: 207\nmodel name\t: Example(R)  CPU @ 2.40GHz\nmodel name\t: other\n";
        assert_eq!(processor(about).as_deref(), Some("Example(R) CPU @ 2.40GHz"));
        assert_eq!(processor("processor\t: 0\n"), None);
    }

    #[test]
    fn a_machine_tells_its_date_and_compiler() {
        let here = Machine::here();
        assert!(here.date.len() == 10 && here.date.starts_with("20"), "{here:?}");
        assert!(here.rustc.starts_with("rustc 1."), "{here:?}");
        assert!(here.cores > 0, "{here:?}");
    }
}
