//! Does a body that is wiped when dropped leave a copy behind?
//!
//! The client runs in a child process, because this one's server has read the body, and searches its own memory.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::Command;

use bytes::Bytes;
use payments_hyper::HyperTransport;
use support::{Server, post, send};
use zeroize::Zeroizing;

const URL: &str = "PAYMENTS_HYPER_TEST_URL";
const AUTHORITY: &str = "PAYMENTS_HYPER_TEST_AUTHORITY";
const BODY: &str = "PAYMENTS_HYPER_TEST_BODY";

#[test]
fn a_wiped_body_leaves_no_copy() {
    assert_eq!(copies_left("a_wiped_body_leaves_no_copy", "wiped", None), 0);
}

#[test]
fn a_body_that_is_not_wiped_is_found() {
    // The search itself is put to the test.
    assert!(copies_left("a_body_that_is_not_wiped_is_found", "kept", None) > 0);
}

#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
#[test]
fn a_wiped_body_leaves_no_copy_through_tls() {
    let authority = support::Authority::new();
    assert_eq!(copies_left("a_wiped_body_leaves_no_copy_through_tls", "wiped", Some(&authority)), 0);
}

/// How often the secret is in the memory of a client that has sent it and dropped it.
fn copies_left(test: &str, body: &str, authority: Option<&support::Authority>) -> usize {
    if let Ok(url) = std::env::var(URL) {
        std::process::exit(i32::try_from(send_and_search(&url)).unwrap());
    }
    let server = match authority {
        None => Server::start(|connection| connection.serve("{}")),
        Some(authority) => {
            Server::start_tls(authority.issue("localhost").server(), |connection| connection.serve("{}"))
        }
    };
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test]).env(BODY, body);
    match authority {
        None => child.env(URL, server.url()),
        Some(authority) => child.env(URL, server.https_url()).env(AUTHORITY, authority.pem()),
    };
    let copies = child.output().unwrap().status.code().unwrap();
    let received = server.received();
    let secret: Vec<u8> = hidden_secret().into_iter().map(|byte| !byte).collect();
    assert_eq!(received.len(), 3);
    assert!(received.iter().all(|request| request.body.windows(secret.len()).any(|window| window == secret)));
    usize::try_from(copies).unwrap()
}

/// The secret with every bit turned, so that looking for it does not put it into memory.
fn hidden_secret() -> [u8; 24] {
    std::array::from_fn(|index| !(b'0' + u8::try_from(index * 7 % 10).unwrap()))
}

fn body() -> Vec<u8> {
    let mut body = Vec::with_capacity(600);
    body.resize(300, b'.');
    body.extend(hidden_secret().iter().map(|byte| !byte));
    body.resize(600, b'.');
    body
}

fn send_and_search(url: &str) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let builder = HyperTransport::builder();
    let transport = match std::env::var(AUTHORITY) {
        Ok(pem) => builder.root_certificates_pem(pem).build().unwrap(),
        Err(_) => builder.build().unwrap(),
    };
    let kept: Vec<_> = if std::env::var(BODY).unwrap() == "kept" { vec![body()] } else { Vec::new() };
    // On a new connection and on one that has served before.
    for _ in 0..3 {
        let wiped = Bytes::from_owner(Zeroizing::new(body()));
        runtime.block_on(send(&transport, post(url).body(wiped))).unwrap();
    }
    let copies = search();
    drop(kept);
    drop(transport);
    copies
}

/// Counts the secret in all memory that this process can write to.
fn search() -> usize {
    let memory = File::open("/proc/self/mem").unwrap();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let hidden = hidden_secret();
    let mut region = Vec::new();
    let mut copies = 0;
    for map in maps.lines().filter(|map| map.split(' ').nth(1).is_some_and(|rights| rights.starts_with("rw")))
    {
        let (start, end) = map.split(' ').next().unwrap().split_once('-').unwrap();
        let [start, end] = [start, end].map(|address| u64::from_str_radix(address, 16).unwrap());
        region.resize(usize::try_from(end - start).unwrap(), 0);
        if memory.read_exact_at(&mut region, start).is_err() {
            continue;
        }
        // Turned at once, so that this copy is not counted as one that was left.
        for byte in &mut region {
            *byte = !*byte;
        }
        copies += region.windows(hidden.len()).filter(|window| *window == hidden).count();
    }
    copies
}
