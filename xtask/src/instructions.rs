//! `cargo xtask instructions`: the instructions of one `process_card`, beside those of two peers.
//!
//! Each client program makes calls over one warm connection, in plain HTTP, to a server that returns one fixed response.
//! Ours is measured on every response of [`responses`], and each peer on the first one. Valgrind counts, so a busy machine
//! gives the same figures as an idle one.

mod responses;

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::workspace::{Workspace, cargo, shell};

/// Builds the clients, measures them, prints the table, and fails if the goal is missed or anything was not measured.
pub(crate) fn run() -> anyhow::Result<()> {
    let shell = shell()?;
    let valgrind = cmd!(shell, "valgrind --version").quiet().ignore_stdout().run();
    valgrind.context("valgrind counts the instructions: install it")?;
    let target = Workspace::load()?.target.join("clients");
    println!("building the clients (the first time takes minutes)");
    let payments = build(&shell, &target, "bench-payments")?;
    let hyper_util = build(&shell, &target, "bench-hyper-util")?;
    let reqwest = build(&shell, &target, "bench-reqwest")?;

    let responses = responses::all();
    let known_to_peers = serve(&responses[0].1)?;
    let mut table = Table {
        payments: Vec::new(),
        hyper_util: instructions_per_call(&shell, &hyper_util, known_to_peers)?,
        reqwest: instructions_per_call(&shell, &reqwest, known_to_peers)?,
    };
    for (name, body) in responses {
        let count = instructions_per_call(&shell, &payments, serve(&body)?);
        table.payments.push((name, count.with_context(|| format!("on the response {name:?}"))?));
    }
    println!("{table}");
    ensure!(table.meets_goals(), "process_card takes more instructions than the goal allows");
    Ok(())
}

/// Builds one client alone, with the features that its own users get, and returns the path of the program.
fn build(shell: &Shell, target: &Path, package: &str) -> anyhow::Result<PathBuf> {
    let build = "build --release --locked --quiet --message-format=json-render-diagnostics";
    let messages = cargo(shell, build.split(' '))
        .args(["--manifest-path", "xtask/bench/clients/Cargo.toml", "--package", package, "--target-dir"])
        .arg(target)
        .read()
        .with_context(|| format!("cannot build {package}"))?;
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut programs = messages.filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?)));
    programs.next_back().with_context(|| format!("cargo reports no program of {package}"))
}

/// Returns the address of a server that sends this body for every request. Its threads end with the process.
fn serve(body: &str) -> io::Result<SocketAddr> {
    let head = "HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 10:15:30 GMT\r\nContent-Type: application/json";
    let response: Arc<str> = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let response = Arc::clone(&response);
            // An error closes the connection, which fails the client's run.
            thread::spawn(move || respond(&connection, &response));
        }
    });
    Ok(address)
}

/// Responds to the requests of one connection until the client closes it.
fn respond(mut connection: &TcpStream, response: &str) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut requests = BufReader::new(connection);
    let (mut line, mut body_length) = (String::new(), 0);
    while requests.read_line(&mut line)? > 0 {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            body_length = value.trim().parse().map_err(io::Error::other)?;
        } else if line == "\r\n" {
            io::copy(&mut requests.by_ref().take(body_length), &mut io::sink())?;
            connection.write_all(response.as_bytes())?;
            body_length = 0;
        }
        line.clear();
    }
    Ok(())
}

/// Runs the client twice. What both runs do, such as connecting, is not part of the difference.
fn instructions_per_call(shell: &Shell, program: &Path, server: SocketAddr) -> anyhow::Result<u32> {
    const FEW: u32 = 100;
    const MANY: u32 = 300;
    let server = server.to_string();
    let count = |calls: u32| {
        let calls = calls.to_string();
        let options = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];
        let run = cmd!(shell, "valgrind {options...} {program} {server} charge {calls} 1");
        let output = run.quiet().ignore_status().output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} failed: {}\n{stderr}", program.display(), output.status);
        collected(&stderr).context("callgrind reports no total")
    };
    let (few, many) = (count(FEW)?, count(MANY)?);
    per_call(few, many, MANY - FEW).with_context(|| format!("{few} and {many} instructions make no sense"))
}

/// The total in `==7== Collected : 12345`.
fn collected(stderr: &str) -> Option<u64> {
    let total = stderr.lines().find_map(|line| line.strip_prefix("==")?.split_once("== Collected : "))?.1;
    total.parse().ok()
}

fn per_call(few: u64, many: u64, calls: u32) -> Option<u32> {
    let count = many.checked_sub(few)? / u64::from(calls);
    u32::try_from(count).ok().filter(|count| *count > 0)
}

/// Instructions per call: ours on each response, and each peer's on the first.
#[derive(Debug)]
struct Table {
    payments: Vec<(&'static str, u32)>,
    hyper_util: u32,
    reqwest: u32,
}

/// Of hyper-util with serde's derive.
const GOAL_HYPER_UTIL: f64 = 1.25;

/// Of reqwest.
const GOAL_REQWEST: f64 = 0.80;

impl Table {
    fn worst(&self) -> Option<(&'static str, u32)> {
        self.payments.iter().copied().max_by_key(|(_, count)| *count)
    }

    /// False without any response: a check that was not made fails.
    fn meets_goals(&self) -> bool {
        self.worst().is_some_and(|(_, count)| {
            let (hyper_util, reqwest) = self.ratios(count);
            hyper_util <= GOAL_HYPER_UTIL && reqwest <= GOAL_REQWEST
        })
    }

    /// To hyper-util with serde's derive, and to reqwest.
    fn ratios(&self, count: u32) -> (f64, f64) {
        let count = f64::from(count);
        (count / f64::from(self.hyper_util), count / f64::from(self.reqwest))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = ["response", "instructions", "/ hyper-util + derive", "/ reqwest"];
        writeln!(f, "{:<28}{:>14}{:>24}{:>12}", columns[0], columns[1], columns[2], columns[3])?;
        let peers = [("(hyper-util + derive)", self.hyper_util), ("(reqwest)", self.reqwest)];
        for (name, count) in self.payments.iter().chain(&peers) {
            let (hyper_util, reqwest) = self.ratios(*count);
            writeln!(f, "{name:<28}{count:>14}{hyper_util:>24.3}{reqwest:>12.3}")?;
        }
        let Some((name, count)) = self.worst() else { return write!(f, "no response was measured") };
        let (hyper_util, reqwest) = self.ratios(count);
        write!(
            f,
            "worst, {name}: {hyper_util:.3} x hyper-util + derive (goal: at most {GOAL_HYPER_UTIL:.2}), "
        )?;
        write!(f, "{reqwest:.3} x reqwest (goal: at most {GOAL_REQWEST:.2})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(payments: &[(&'static str, u32)]) -> Table {
        Table { payments: payments.to_vec(), hyper_util: 50_000, reqwest: 100_000 }
    }

    #[test]
    fn the_total_is_read_from_valgrinds_own_lines() {
        let stderr =
            "==7== Callgrind\nCollected : 1\n==7== Events    : Ir\n==7== Collected : 62847551\n==7== \n";
        assert_eq!(collected(stderr), Some(62_847_551));
        assert_eq!(collected("==7== Events    : Ir\n"), None);
    }

    #[test]
    fn only_the_calls_between_the_two_runs_are_counted() {
        assert_eq!(per_call(1_000_000, 11_000_000, 200), Some(50_000));
        assert_eq!(per_call(11_000_000, 1_000_000, 200), None);
        assert_eq!(per_call(1_000_000, 1_000_000, 200), None);
    }

    #[test]
    fn the_worst_response_decides_and_is_quoted_last() {
        let table = table(&[("first", 40_000), ("second", 62_550), ("third", 30_000)]);
        assert!(!table.meets_goals());
        let text = table.to_string();
        let expected = "worst, second: 1.251 x hyper-util + derive (goal: at most 1.25), \
                        0.625 x reqwest (goal: at most 0.80)";
        assert_eq!(text.lines().last(), Some(expected));
        assert!(
            text.contains("first                                40000                   0.800       0.400\n")
        );
    }

    #[test]
    fn a_goal_that_is_just_met_passes() {
        let peers = |hyper_util, reqwest| {
            let payments = vec![("first", 40_000), ("second", 80_000)];
            Table { payments, hyper_util, reqwest }
        };
        assert!(peers(64_000, 100_000).meets_goals());
        assert!(!peers(63_999, 100_000).meets_goals());
        assert!(!peers(64_000, 99_999).meets_goals());
    }

    #[test]
    fn a_table_without_responses_fails() {
        assert!(!table(&[]).meets_goals());
    }
}
