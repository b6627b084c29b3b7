//! The gate: whether a call through this SDK takes more instructions than is committed.
//!
//! Only our own client is counted, in the cheapest build whose calls are those of a release build, so that every change can
//! wait for it. What a call costs beside its peers is another question: [`call`](crate::call).

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::call::calls_in_turn;
use crate::clients::{self, OURS};
use crate::report::rustc;
use crate::server::Server;
use crate::valgrind;

/// Counts, and compares with what is committed; or, where `save` is set, writes that anew.
pub(crate) fn run(save: bool) -> anyhow::Result<ExitCode> {
    ensure!(valgrind::is_installed(), "{}, and it is what counts", valgrind::IS_MISSING);
    let program = clients::build_for_the_gate(OURS)?;
    let server = Server::start(&std::env::current_exe()?, &["serve-fixed"])?;
    let (few, many) = CALLS;
    let count = |word| calls_in_turn(&program, &server, word).instructions_per_call(few, many);
    let counted = Instructions {
        rustc: rustc(),
        processor: PROCESSOR.to_owned(),
        charge: count("charge")?,
        look_up: count("look-up")?,
    };
    if save {
        std::fs::write(committed_path(), format!("{counted}\n"))
            .with_context(|| format!("cannot write {}", committed_path().display()))?;
        println!("{counted}\nsaved in {}: commit it with what has changed it", committed_path().display());
        return Ok(ExitCode::SUCCESS);
    }
    let committed = std::fs::read_to_string(committed_path())
        .with_context(|| format!("cannot read {}", committed_path().display()))?;
    let committed = Instructions::read(&committed).context(COMMITTED)?;
    let judgement = Judgement::of(&counted, &committed, &program);
    println!("{judgement}");
    Ok(if judgement.is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// In two runs whose difference is counted. A call costs the same each time, so few are enough.
const CALLS: (u32, u32) = (100, 300);

/// Two counts of the same program differ by less than one in a thousand. Another build of the same source, on another
/// machine of the kind, differs by less than one in a hundred.
const TOLERANCE: f64 = 0.03;

/// Another kind of processor has other instructions.
const PROCESSOR: &str = std::env::consts::ARCH;

const COMMITTED: &str = "benches/instructions.json";

fn committed_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.json")
}

/// Of one call each, and what they were counted with.
#[derive(Debug)]
struct Instructions {
    rustc: String,
    processor: String,
    charge: f64,
    look_up: f64,
}

impl Instructions {
    fn read(text: &str) -> anyhow::Result<Self> {
        let committed: Value = serde_json::from_str(text)?;
        let text = |name: &str| {
            committed[name].as_str().map(str::to_owned).with_context(|| format!("no text {name}"))
        };
        let number = |name: &str| committed[name].as_f64().with_context(|| format!("no number {name}"));
        Ok(Self {
            rustc: text("rustc")?,
            processor: text("processor")?,
            charge: number("charge")?,
            look_up: number("look-up")?,
        })
    }

    /// Each by its name.
    fn each(&self) -> [(&'static str, f64); 2] {
        [("charge", self.charge), ("look-up", self.look_up)]
    }
}

/// What [`Instructions::read`] reads.
impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rustc, processor, charge, look_up } = self;
        let committed = json!({
            "about": "instructions of one call, by `cargo xtask bench --instructions --save`; 3 % more fail `cargo xtask test`",
            "rustc": rustc, "processor": processor, "charge": whole(*charge), "look-up": whole(*look_up),
        });
        write!(f, "{committed:#}")
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a call takes some 50 000 instructions"
)]
fn whole(count: f64) -> u32 {
    count.round() as u32
}

/// What is to be said about a count, and whether the change may pass.
#[derive(Debug)]
struct Judgement {
    lines: Vec<String>,
    is_good: bool,
}

impl Judgement {
    fn of(counted: &Instructions, committed: &Instructions, program: &Path) -> Self {
        if counted.processor != committed.processor {
            let line = format!(
                "not judged: {COMMITTED} was counted on {}, and {} has other instructions",
                committed.processor, counted.processor
            );
            return Self { lines: vec![line], is_good: true };
        }
        let (mut lines, mut is_good, mut is_lower) = (Vec::new(), true, false);
        for ((name, now), (_, before)) in counted.each().into_iter().zip(committed.each()) {
            let change = now / before - 1.0;
            let verdict = if change > TOLERANCE {
                is_good = false;
                "TOO MANY"
            } else {
                is_lower |= change < -TOLERANCE;
                "ok"
            };
            lines.push(format!(
                "{verdict:>8}  {name:<8} {now:>7.0} instructions, {before:.0} committed: {:+.1} %",
                change * 100.0
            ));
        }
        if !is_good {
            lines.push(advice(program));
        } else if is_lower {
            lines.push(format!(
                "fewer than committed: lower {COMMITTED} with `cargo xtask bench --instructions --save`, or the gate \
                 lets them grow back unseen"
            ));
        }
        if counted.rustc != committed.rustc {
            lines.push(format!(
                "counted with {}, and committed with {}: part of the difference may be the compiler's",
                counted.rustc, committed.rustc
            ));
        }
        Self { lines, is_good }
    }
}

fn advice(program: &Path) -> String {
    let this = std::env::current_exe().unwrap_or_else(|_| "payments-benches".into());
    format!(
        "a call takes over 3 % more than is committed. Where the instructions are:\n  \
         {} serve-fixed      # until it is ended; its first line has the port\n  \
         valgrind --tool=callgrind --callgrind-out-file=callgrind.out {} 127.0.0.1:PORT charge 700 1\n  \
         callgrind_annotate --inclusive=yes callgrind.out\n\
         If the growth is worth what it buys, say so in the same commit as the new figure, which\n  \
         cargo xtask bench --instructions --save\nwrites to {COMMITTED}.",
        this.display(),
        program.display()
    )
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instructions(charge: f64, look_up: f64) -> Instructions {
        Instructions { rustc: "rustc 1.95.0".to_owned(), processor: "x86_64".to_owned(), charge, look_up }
    }

    fn judged(charge: f64, look_up: f64) -> Judgement {
        let committed = instructions(50_000.0, 40_000.0);
        Judgement::of(&instructions(charge, look_up), &committed, Path::new("bench-payments"))
    }

    #[test]
    fn what_is_committed_can_be_read() {
        let committed = Instructions::read(include_str!("../instructions.json")).unwrap();
        assert!(committed.charge > committed.look_up, "{committed:?}");
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let written = instructions(50_381.7, 40_000.0).to_string();
        let read = Instructions::read(&written).unwrap();
        assert_eq!(read.to_string(), written);
        assert_eq!(read.each(), [("charge", 50_382.0), ("look-up", 40_000.0)]);
    }

    #[test]
    fn a_file_with_less_is_refused_by_the_name_of_what_is_missing() {
        let text = r#"{"rustc":"r","processor":"x86_64","charge":1}"#;
        assert!(Instructions::read(text).unwrap_err().to_string().contains("look-up"));
        assert!(Instructions::read("charge").is_err());
    }

    #[test]
    fn up_to_three_percent_more_is_good() {
        assert!(judged(50_000.0, 40_000.0).is_good);
        assert!(judged(51_499.0, 41_199.0).is_good);
        let silent = judged(51_499.0, 41_199.0).to_string();
        assert_eq!(silent.lines().count(), 2, "{silent}");
    }

    #[test]
    fn more_than_that_of_either_is_not_and_says_which_and_what_to_do() {
        let judgement = judged(50_000.0, 41_201.0);
        let text = judgement.to_string();
        assert!(!judgement.is_good);
        for words in [
            "ok  charge     50000 instructions, 50000 committed: +0.0 %",
            "TOO MANY  look-up    41201 instructions, 40000 committed: +3.0 %",
            "callgrind_annotate",
            "cargo xtask bench --instructions --save",
        ] {
            assert!(text.contains(words), "no {words:?} in\n{text}");
        }
        assert!(!judged(51_501.0, 30_000.0).is_good, "what one call saves pays for no other");
    }

    #[test]
    fn fewer_are_good_and_the_committed_figure_is_to_be_lowered() {
        let judgement = judged(48_000.0, 40_000.0);
        assert!(judgement.is_good && judgement.to_string().contains("lower benches/instructions.json"));
    }

    #[test]
    fn another_compiler_is_told_and_judged() {
        let mut counted = instructions(60_000.0, 40_000.0);
        counted.rustc = "rustc 1.99.0".to_owned();
        let judgement = Judgement::of(&counted, &instructions(50_000.0, 40_000.0), Path::new("p"));
        assert!(!judgement.is_good && judgement.to_string().contains("may be the compiler's"), "{judgement}");
    }

    #[test]
    fn another_processor_is_told_and_not_judged() {
        let mut counted = instructions(90_000.0, 40_000.0);
        counted.processor = "aarch64".to_owned();
        let judgement = Judgement::of(&counted, &instructions(50_000.0, 40_000.0), Path::new("p"));
        assert!(judgement.is_good && judgement.to_string().starts_with("not judged"), "{judgement}");
    }
}
