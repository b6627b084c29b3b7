//! A server leaves nothing behind after its test.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::env;
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use payments_postgres_for_tests::{Server, Shutdown};

#[test]
fn dropped_server_ends_and_removes_its_folder() {
    let Some(mut server) = Server::start() else { return };
    let socket = server.socket();
    UnixStream::connect(&socket).unwrap();
    server.stop(Shutdown::Immediate);
    UnixStream::connect(&socket).unwrap_err();
    server.start_again();
    UnixStream::connect(&socket).unwrap();
    drop(server);
    assert!(!socket.parent().unwrap().exists());
}

#[test]
fn server_ends_when_its_test_is_killed() {
    if payments_postgres_for_tests::Binaries::find().is_none() {
        return;
    }
    let mut victim = Command::new(env::current_exe().unwrap())
        .args(["--exact", "killed_test", "--ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines().map(Result::unwrap);
    let socket = lines.find_map(|line| line.strip_prefix("socket ").map(PathBuf::from)).unwrap();
    UnixStream::connect(&socket).unwrap();

    victim.kill().unwrap();
    victim.wait().unwrap();
    let began = Instant::now();
    while exists(socket.parent().unwrap()) {
        assert!(began.elapsed() < Duration::from_mins(1), "{socket:?} still exists");
        thread::sleep(Duration::from_millis(10));
    }
}

fn exists(folder: &Path) -> bool {
    folder.try_exists().unwrap()
}

#[test]
#[ignore = "the process that the test above kills"]
fn killed_test() {
    let server = Server::start().unwrap();
    println!("socket {}", server.socket().display());
    loop {
        thread::park();
    }
}
