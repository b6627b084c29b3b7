//! What other users of the machine can see of a running command: its arguments, environment and files.

use std::path::Path;
use std::{fs, io};

use payments_canary::Canaries;

use super::{Place, account_payment, assert_clean_places, card_payment};
use crate::prelude::*;

#[test]
fn s5_running_command_exposes_no_secret() {
    for (shape, payment) in [("json", card_payment as fn(&Canaries) -> String), ("text", account_payment)] {
        assert_clean_places(|canaries| seen(canaries, shape, payment));
    }
}

/// The key comes from a file and the request from stdin. The service does not respond until the command is interrupted.
fn seen(canaries: &Canaries, shape: &str, payment: fn(&Canaries) -> String) -> Vec<Place> {
    let folder = tempfile::tempdir().unwrap();
    let key_file = folder.path().join("key");
    fs::write(&key_file, canaries.key()).unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    let peer = Peer::new(Then::Wait);
    let options = format!("--verbose --output {shape} --base-url {}", peer.base_url);
    let mut run = payments(CREATE).with(&options).with(["--api-key-file", key_file.to_str().unwrap()]);
    run = run.stdin(payment(canaries));
    for name in ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
        run = run.env(name, home.to_str().unwrap());
    }
    let running = run.start();
    let sent = peer.request();
    assert!(sent.contains(canaries.key()), "the key was not sent");
    assert!(sent.contains(canaries.card()) || sent.contains(canaries.account()), "{sent}");
    let proc = Path::new("/proc").join(running.id().to_string());
    let mut seen = vec![("its arguments", fs::read(proc.join("cmdline")).unwrap())];
    seen.push(("its environment", fs::read(proc.join("environ")).unwrap()));
    for thread in fs::read_dir(proc.join("task")).unwrap() {
        // A thread can end at any time.
        seen[0].1.extend(fs::read(thread.unwrap().path().join("comm")).unwrap_or_default());
    }
    let open = fs::read_dir(proc.join("fd")).unwrap().map(|file| fs::read_link(file.unwrap().path()));
    let open = open.flatten().map(|path| path.into_os_string().into_string().unwrap());
    seen.push(("its open files", open.collect::<Vec<_>>().join("\n").into_bytes()));
    running.signal("INT");
    let ended = running.end().exits(5);
    seen.push(("its output", format!("{}{}", ended.stdout, ended.stderr).into_bytes()));
    let mut written = Vec::new();
    files_in(&home, &mut written).unwrap();
    assert!(written.is_empty(), "it wrote a file");
    seen
}

pub(super) fn files_in(folder: &Path, found: &mut Vec<u8>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files_in(&path, found)?;
        } else {
            found.extend(path.file_name().unwrap().as_encoded_bytes());
            found.push(b'\n');
            found.extend(fs::read(&path)?);
        }
    }
    Ok(())
}
