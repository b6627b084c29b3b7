//! A forked process has none of its parent's threads, and its calls must end on time without them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use fork::{Fork, fork, waitpid};
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{ApiKey, Endpoint, Outcome};
use tokio::runtime::Builder;

/// The deadline of a payment that gets no response, with time to connect and to send it on a busy machine.
const TOTAL: Duration = Duration::from_secs(3);

const AMPLE: Duration = Duration::from_secs(30);

/// The outcome of a payment with its own runtime and client; `None` if it was processed.
fn pay(base_url: &str, total: Duration) -> Option<Outcome> {
    let endpoint = Endpoint::new(base_url, ApiKey::new("sk_test").unwrap()).unwrap();
    let client = payments_reqwest::client(endpoint).unwrap().with_total_timeout(total);
    let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive);
    let payment = payment.build().unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(client.process_token(&payment)).err().map(|error| error.outcome())
}

/// The base URL of a server that answers the first connection, and is silent on the others.
fn silent_after_one_payment() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = BufReader::new(&stream).lines().map_while(Result::ok);
        assert!(head.take_while(|line| !line.is_empty()).count() > 0);
        let body = r#"{"status_code":100,"data":{"TransactionId":"txn_1"}}"#;
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        let _silent: Vec<_> = listener.incoming().collect();
    });
    base_url
}

/// Exits with 0 if a payment ends at its deadline, and with 2 if it never ends.
fn exit_after_a_silent_payment(base_url: &str) -> ! {
    // A call that hangs must not hang the test.
    thread::spawn(|| {
        thread::sleep(TOTAL * 10);
        exit(2);
    });
    let started = Instant::now();
    let is_on_time = pay(base_url, TOTAL) == Some(Outcome::Unknown) && started.elapsed() >= TOTAL;
    exit(i32::from(!is_on_time));
}

#[test]
fn a_call_in_a_forked_process_ends_at_its_deadline_d51() {
    let base_url = silent_after_one_payment();
    assert_eq!(pay(&base_url, AMPLE), None);

    match fork().unwrap() {
        Fork::Child => exit_after_a_silent_payment(&base_url),
        Fork::Parent(child) => {
            let status = waitpid(child).unwrap();
            assert_eq!(status, 0, "the wait status of the child: exit code 2 if its call never ended");
        }
    }
}

/// A process forks and ends, and a descendant gets its number. In a PID namespace, whose next number can be set.
#[cfg(target_os = "linux")]
#[test]
fn a_call_in_a_process_with_the_number_of_its_ancestor_ends_at_its_deadline_d51() {
    const INSIDE: &str = "PAYMENTS_TEST_IN_A_PID_NAMESPACE";
    if std::env::var_os(INSIDE).is_some() {
        return in_a_pid_namespace();
    }
    let in_namespace = |program: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", program]);
        command
    };
    if !in_namespace("true").output().is_ok_and(|output| output.status.success()) {
        eprintln!(
            "NOT COVERED: a process with the number of an ancestor; this system allows no PID namespace"
        );
        return;
    }
    let mut inside = in_namespace(std::env::current_exe().unwrap().to_str().unwrap());
    inside.args([
        "--exact",
        "fork::a_call_in_a_process_with_the_number_of_its_ancestor_ends_at_its_deadline_d51",
    ]);
    let output = inside.env(INSIDE, "1").output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[cfg(target_os = "linux")]
fn in_a_pid_namespace() {
    let base_url = silent_after_one_payment();
    let (mut result, mut writer) = io::pipe().unwrap();
    let ancestor = match fork().unwrap() {
        Fork::Child => {
            assert_eq!(pay(&base_url, AMPLE), None);
            let ancestor = std::process::id();
            if let Fork::Child = fork().unwrap() {
                while Path::new(&format!("/proc/{ancestor}")).exists() {
                    thread::sleep(Duration::from_millis(1));
                }
                // The system counts the start of a process in hundredths of a second.
                thread::sleep(Duration::from_millis(20));
                fs::write("/proc/sys/kernel/ns_last_pid", (ancestor - 1).to_string()).unwrap();
                match fork().unwrap() {
                    Fork::Child if std::process::id() == ancestor => exit_after_a_silent_payment(&base_url),
                    Fork::Child => exit(3),
                    Fork::Parent(descendant) => write!(writer, "{}", waitpid(descendant).unwrap()).unwrap(),
                }
            }
            exit(0)
        }
        Fork::Parent(ancestor) => ancestor,
    };
    drop(writer);
    assert_eq!(waitpid(ancestor).unwrap(), 0);
    let mut status = String::new();
    result.read_to_string(&mut status).unwrap();
    assert_eq!(
        status, "0",
        "the wait status: exit code 2 if the call never ended, 3 if the number is another"
    );
}

#[allow(clippy::exit, reason = "a child must not return into the test harness")]
fn exit(code: i32) -> ! {
    std::process::exit(code)
}
