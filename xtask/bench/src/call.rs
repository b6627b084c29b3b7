//! What a call costs with this SDK and with other clients, over plain HTTP and one warm connection.
//!
//! Each client is a separate program in `clients/`. It calls a server that returns a fixed response.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use anyhow::Context as _;
use serde_json::Value;

use crate::measure::{Cost, Turns, cost};
use crate::process::watch;
use crate::report::{Goal, Report};
use crate::responses;

pub(crate) fn measure(report: &mut Report) -> anyhow::Result<()> {
    println!("  the first run takes minutes to build the clients");
    let ours = build("bench-payments")?;
    let hyper_util = build("bench-hyper-util")?;
    let reqwest = build("bench-reqwest")?;
    let counted = (report.amount(100, 2), report.amount(300, 4));
    let cost_of = |program: &Path, server: SocketAddr, call: &str| {
        cost(program, |calls| vec![server.to_string(), call.to_owned(), calls.to_string()], counted)
    };

    let responses = responses::all();
    let servers = responses.iter().map(|(_, body)| serve(body)).collect::<io::Result<Vec<_>>>()?;
    // The first response has only fields that the other clients know.
    let first = servers[0];
    let add_charge = |report: &mut Report, name: &str, program: &Path, server| {
        let Cost { instructions, allocations } = cost_of(program, server, "charge")?;
        let note = format!("{allocations:.0} allocations");
        report.add(format!("charge, {name}"), instructions, "instructions", None, note);
        anyhow::Ok(instructions)
    };
    let by_hyper_util = add_charge(report, "by hyper-util", &hyper_util, first)?;
    let by_reqwest = add_charge(report, "by reqwest", &reqwest, first)?;
    let mut worst = 0_f64;
    for ((name, _), server) in responses.iter().zip(&servers) {
        worst = worst.max(add_charge(report, name, &ours, *server)?);
    }
    let worst_response = "charge, worst response";
    report.add(worst_response, worst / by_hyper_util, "of hyper-util", Some(Goal::AtMost(1.15)), "");
    report.add(worst_response, worst / by_reqwest, "of reqwest", Some(Goal::AtMost(0.75)), "");
    let lookup = cost_of(&ours, first, "lookup")?.instructions;
    let peer = cost_of(&hyper_util, first, "lookup")?.instructions;
    let goal = Some(Goal::AtMost(1.20));
    report.add("lookup", lookup / peer, "of hyper-util", goal, format!("{lookup:.0} instructions"));

    let calls = report.amount(64_000, 640);
    for (name, program, least) in [("of hyper-util", &hyper_util, 0.95), ("of reqwest", &reqwest, 1.4)] {
        let rate = |program: &Path| {
            let run = run(program, first, calls, MANY_IN_FLIGHT);
            Ok(f64::from(calls) / watch(run, |_| ())?.as_secs_f64())
        };
        let turns = Turns::take(report.amount(11, 1), || rate(&ours), || rate(program))?;
        let figure = format!("charges per second, {MANY_IN_FLIGHT} in flight");
        report.add(figure, turns.median(), name, Some(Goal::AtLeast(least)), turns.note());
    }
    Ok(())
}

const MANY_IN_FLIGHT: u32 = 64;

fn run(program: &Path, server: SocketAddr, calls: u32, in_flight: u32) -> Command {
    let mut command = Command::new(program);
    command.args([&server.to_string(), "charge", &calls.to_string(), &in_flight.to_string()]);
    command
}

/// Builds one client alone, with the features that its users get.
fn build(package: &str) -> anyhow::Result<PathBuf> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--release", "--locked", "--quiet", "--message-format=json-render-diagnostics"])
        .args(["--package", package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(std::process::Stdio::inherit())
        .output()?;
    let messages = String::from_utf8(output.stdout)?;
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut programs = messages.filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?)));
    programs.next_back().with_context(|| format!("cannot build {package}"))
}

/// Starts a server that returns this body for every charge, and the same with a lookup's success code for every lookup. Returns
/// its address. Its threads end with the process.
fn serve(body: &str) -> io::Result<SocketAddr> {
    let head = "HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 10:15:30 GMT\r\nContent-Type: application/json";
    let charged = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let found = charged.replace("\"status_code\":100", "\"status_code\":200");
    let responses = Arc::new([charged, found]);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let responses = Arc::clone(&responses);
            // An error closes the connection, which fails the client's run.
            thread::spawn(move || respond(&connection, &responses));
        }
    });
    Ok(address)
}

/// Responds to the requests of one connection until the client closes it.
fn respond(mut connection: &TcpStream, [charged, found]: &[String; 2]) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut requests = BufReader::new(connection);
    let (mut line, mut body_length, mut response) = (String::new(), 0, charged);
    while requests.read_line(&mut line)? > 0 {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            body_length = value.trim().parse().map_err(io::Error::other)?;
        } else if line.starts_with("GET ") {
            response = found;
        } else if line == "\r\n" {
            io::copy(&mut requests.by_ref().take(body_length), &mut io::sink())?;
            connection.write_all(response.as_bytes())?;
            (body_length, response) = (0, charged);
        }
        line.clear();
    }
    Ok(())
}
