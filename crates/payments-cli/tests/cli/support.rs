//! The command as a child process, and servers that do one thing.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use payments_fake::FakeGateway;
use payments_sandbox::{BlockingSandbox, Sandbox};
use serde_json::Value;

/// The API key of every test. No output may contain it.
pub(crate) const KEY: &str = "sk_canary_8Zk3Qw";
pub(crate) const CARD: &str = "4111111111111111";
/// The code of [`CARD_PAYMENT`], unlike any other value.
pub(crate) const CVV: &str = "7391";

/// How the line begins that announces a created journal.
pub(crate) const CREATED: &str = "created the journal ";

/// A valid card payment with an American Express card, whose code has four digits.
pub(crate) const CARD_PAYMENT: &str = r#"{"Amount":10.50,"BillingCountry":"US","BillingCountryCode":"+1",
    "BillingCustomerName":"Grace Hopper","BillingEmail":"grace@example.com","BillingPhoneNumber":"555-0100",
    "BillingPostalCode":"10001","CardNumber":"378282246310005","Cvv":"7391","ExpiryDate":"1233",
    "SuggestedMode":"Card","ConvenienceFeeActive":false,"TransactionType":"1","IpAddress":"203.0.113.7"}"#;

pub(crate) const TOKEN_PAYMENT: &str =
    r#"{"TokenId":"tok_approved","GatewayCustomerId":"gc_1","Amount":45.00,"ConvenienceFeeActive":false}"#;

/// [`CARD_PAYMENT`] as an ACH payment.
pub(crate) fn ach_payment() -> String {
    CARD_PAYMENT
        .replace(
            r#""CardNumber":"378282246310005","Cvv":"7391","ExpiryDate":"1233","#,
            r#""AccountNumber":"000123456789","#,
        )
        .replace(r#""SuggestedMode":"Card""#, r#""SuggestedMode":"ach""#)
}

/// The same as an authorization.
pub(crate) fn authorization() -> String {
    CARD_PAYMENT.replace(r#""TransactionType":"1""#, r#""TransactionType":"2""#)
}

pub(crate) fn declined_payment() -> String {
    TOKEN_PAYMENT.replace("tok_approved", "tok_declined")
}

/// Starts `payments sandbox`, and returns its ready line.
pub(crate) fn started(run: Run) -> (Running, Value) {
    let mut running = run.start();
    let line = running.first_line();
    assert!(line.starts_with(r#"{"base_url":""#) && line.contains(r#"","api_key":""#), "{line}");
    let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    (running, ready)
}

/// The payment of the request on stdin.
pub(crate) const CREATE: &str = "transaction create --file -";
pub(crate) const CHARGE: &str = "token-transaction create --file -";
pub(crate) const GET: &str = "transaction get txn_1";

/// A sandbox in this process, with the key of the tests.
pub(crate) fn sandbox() -> BlockingSandbox {
    Sandbox::builder()
        .fresh_gateway(FakeGateway::builder().api_key(KEY))
        .start_blocking()
        .expect("a loopback port is free")
}

/// Checks that the text has each of these parts.
#[track_caller]
pub(crate) fn has<P: AsRef<str>>(text: impl AsRef<str>, parts: impl IntoIterator<Item = P>) {
    let text = text.as_ref();
    for part in parts {
        let part = part.as_ref();
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[track_caller]
pub(crate) fn begins(text: impl AsRef<str>, beginning: impl AsRef<str>) {
    let (text, beginning) = (text.as_ref(), beginning.as_ref());
    assert!(text.starts_with(beginning), "{beginning}: {text}");
}

/// Checks that the object has these members.
#[track_caller]
pub(crate) fn holds(object: &Value, members: &Value) {
    for (name, value) in members.as_object().expect("an object") {
        assert_eq!(&object[name], value, "{name}: {object}");
    }
}

/// The message of an error object.
#[track_caller]
pub(crate) fn message(error: &Value) -> &str {
    error["message"].as_str().unwrap_or_else(|| panic!("it has a message: {error}"))
}

/// A run of the command without the settings of this process.
pub(crate) struct Run {
    command: Command,
    stdin: Option<Vec<u8>>,
    /// Whether stdin is the terminal of [`Self::on_terminal`].
    is_typed: bool,
}

/// The exit code and output of a run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A command line: one text, in which single quotes hold a word together, or its words.
pub(crate) trait Line {
    fn words(&self) -> Vec<OsString>;
}

impl Line for str {
    fn words(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        for (number, piece) in self.split('\'').enumerate() {
            if number % 2 == 1 {
                words.push(piece.into());
            } else {
                words.extend(piece.split_whitespace().map(OsString::from));
            }
        }
        words
    }
}

impl Line for String {
    fn words(&self) -> Vec<OsString> {
        (**self).words()
    }
}

impl<W: AsRef<OsStr>> Line for [W] {
    fn words(&self) -> Vec<OsString> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<W: AsRef<OsStr>, const N: usize> Line for [W; N] {
    fn words(&self) -> Vec<OsString> {
        self[..].words()
    }
}

impl<L: Line + ?Sized> Line for &L {
    fn words(&self) -> Vec<OsString> {
        (**self).words()
    }
}

/// Removes the settings of this process.
pub(crate) fn remove_settings(command: &mut Command) {
    for name in ["BASE_URL", "API_KEY", "API_KEY_FILE", "MERCHANT", "TIMEOUT", "CA_CERT", "PROXY", "JOURNAL"]
    {
        command.env_remove(format!("PAYMENTS_{name}"));
    }
    command.env_remove("PAYMENTS_JOURNAL_MUST_EXIST");
    command.env_remove("PAYMENTS_JOURNAL_WITNESS").env_remove("NO_COLOR");
}

/// The command with this line and without settings.
pub(crate) fn payments(line: impl Line) -> Run {
    #[cfg(target_os = "linux")]
    stop_ignoring_signals();
    let mut command = Command::new(env!("CARGO_BIN_EXE_payments"));
    command.args(line.words());
    remove_settings(&mut command);
    Run { command, stdin: None, is_typed: false }
}

/// A command inherits which signals are ignored, and a script starts its jobs in the background, perhaps these tests, with SIGINT
/// ignored. A signal that this process catches has its default action in a command again.
#[cfg(target_os = "linux")]
fn stop_ignoring_signals() {
    use tokio::runtime::Builder;
    use tokio::signal::unix::{SignalKind, signal};

    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("it has signals");
        let ignored = u64::from_str_radix(ignored.trim(), 16).expect("a mask");
        let runtime = Builder::new_current_thread().enable_io().build().expect("a runtime");
        let _entered = runtime.enter();
        for kind in
            [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate()]
        {
            if ignored >> (kind.as_raw_value() - 1) & 1 == 1 {
                // The process goes on catching it.
                drop(signal(kind).expect("it can be caught"));
            }
        }
    });
}

/// The command with this line, the key of the tests, and the service at `base_url`.
pub(crate) fn payments_at(base_url: &str, line: impl Line) -> Run {
    payments(line).at(base_url).env("PAYMENTS_API_KEY", KEY)
}

impl Run {
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Where the system knows no name of the person.
    pub(crate) fn by_nobody(self) -> Self {
        ["USER", "LOGNAME", "USERNAME"].iter().fold(self, |run, name| run.env(name, ""))
    }

    /// With the service at this base URL.
    pub(crate) fn at(self, base_url: &str) -> Self {
        self.env("PAYMENTS_BASE_URL", base_url)
    }

    /// With this after the other words.
    pub(crate) fn with(mut self, line: impl Line) -> Self {
        self.command.args(line.words());
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// The same command, started by this one, such as `nohup`.
    #[cfg(unix)]
    pub(crate) fn started_by<'a>(mut self, starter: impl IntoIterator<Item = &'a str>) -> Self {
        let mut starter = starter.into_iter();
        let mut command = Command::new(starter.next().expect("a program"));
        command.args(starter).arg(self.command.get_program()).args(self.command.get_args());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = self.command.get_current_dir() {
            command.current_dir(folder);
        }
        self.command = command;
        self
    }

    /// The same command with a limit to the size of files, in KiB.
    #[cfg(unix)]
    pub(crate) fn with_file_limit(self, kib: u32) -> Self {
        let script = format!("ulimit -f {}; exec \"$0\" \"$@\"", 2 * kib);
        // In a POSIX shell, the unit is 512 bytes.
        self.started_by(["sh", "-c", &script])
    }

    #[cfg(unix)]
    pub(crate) fn in_folder(mut self, folder: &std::path::Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Types this on the terminal and ends the input with Ctrl-D.
    #[cfg(unix)]
    pub(crate) fn typed(mut self, text: &str) -> Self {
        self.is_typed = true;
        self.stdin(format!("{text}\n\x04"))
    }

    /// Sends stdout there. Use [`Self::end_with_given_stdout`] or [`Self::spawn`] then.
    pub(crate) fn stdout(mut self, stdout: impl Into<Stdio>) -> Self {
        self.command.stdout(stdout);
        self
    }

    /// Runs to completion, with stdout read by the test.
    pub(crate) fn end(mut self) -> Ended {
        self.command.stdout(Stdio::piped());
        self.spawn().end()
    }

    /// Runs to completion with text output.
    pub(crate) fn text(self) -> Ended {
        self.with("--output text").end()
    }

    /// Runs to completion with a stdout that has no reader.
    pub(crate) fn end_unread(self) -> Ended {
        self.stdout(broken_pipe()).end_with_given_stdout()
    }

    /// Runs to completion with a stdout on a full disk.
    #[cfg(unix)]
    pub(crate) fn end_on_full_disk(self) -> Ended {
        self.stdout(full_disk()).end_with_given_stdout()
    }

    /// Starts it, with stdout read by the test.
    pub(crate) fn start(self) -> Running {
        self.stdout(Stdio::piped()).spawn()
    }

    /// Like [`Self::end`], with the stdout set by [`Self::stdout`].
    pub(crate) fn end_with_given_stdout(self) -> Ended {
        self.spawn().end()
    }

    /// Starts a new session on a new terminal, with all three streams on it. Dropping the other value hangs up.
    #[cfg(target_os = "linux")]
    pub(crate) fn spawn_in_terminal(self) -> (Running, std::fs::File) {
        let (terminal, name) = new_terminal(100);
        let open = || std::fs::OpenOptions::new().read(true).write(true).open(&name).expect("it opens");
        let mut command = self.started_by(["setsid", "--ctty"]).command;
        let child = command.stdin(open()).stdout(open()).stderr(open()).spawn().expect("setsid starts");
        (Running(child), terminal)
    }

    /// Runs with both streams on a new terminal, and returns what the terminal shows.
    #[cfg(unix)]
    pub(crate) fn on_terminal(self) -> String {
        self.on_terminal_of_width(100)
    }

    #[cfg(unix)]
    pub(crate) fn on_terminal_of_width(mut self, columns: u16) -> String {
        let (mut terminal, name) = new_terminal(columns);
        let open = || std::fs::OpenOptions::new().read(true).write(true).open(&name).expect("it opens");
        self.command.stdout(open()).stderr(open());
        match &self.stdin {
            Some(_) if self.is_typed => self.command.stdin(open()),
            Some(_) => self.command.stdin(Stdio::piped()),
            None => self.command.stdin(Stdio::null()),
        };
        let mut child = self.command.spawn().expect("the command starts");
        // The command value holds the terminal's other end open.
        drop(self.command);
        if let Some(bytes) = self.stdin {
            let _ = match child.stdin.take() {
                Some(mut stdin) => stdin.write_all(&bytes),
                None => terminal.write_all(&bytes),
            };
        }
        let mut shown = Vec::new();
        // On Linux, reading a terminal whose other end is closed returns an error.
        let _ = terminal.read_to_end(&mut shown);
        child.wait().expect("the command ends");
        String::from_utf8(shown).expect("it shows text")
    }

    pub(crate) fn spawn(self) -> Running {
        self.spawn_with_stderr(Stdio::piped())
    }

    /// Like [`Self::spawn`], with stderr sent there.
    pub(crate) fn spawn_with_stderr(mut self, stderr: impl Into<Stdio>) -> Running {
        self.command.stderr(stderr);
        self.command.stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = self.command.spawn().expect("the command starts");
        if let (Some(bytes), Some(mut stdin)) = (self.stdin, child.stdin.take()) {
            // A command that refuses its arguments exits without reading stdin.
            let _ = stdin.write_all(&bytes);
        }
        Running(child)
    }
}

/// A new terminal, and the path of its other end.
#[cfg(unix)]
fn new_terminal(columns: u16) -> (std::fs::File, String) {
    use rustix::io::{FdFlags, fcntl_setfd};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{Winsize, tcsetwinsize};

    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    fcntl_setfd(&terminal, FdFlags::CLOEXEC).expect("it may be set");
    grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("it may be used");
    let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).expect("it has a size");
    let name = ptsname(&terminal, Vec::new()).expect("it has a name").into_string().expect("a plain path");
    (terminal.into(), name)
}

/// A running command, killed if its test fails.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("sh")
            .args(["-c", "kill -s \"$0\" \"$1\"", name, &self.0.id().to_string()])
            .status()
            .expect("sh starts");
        assert!(status.success(), "the command is alive");
    }

    /// The next line of stdout.
    pub(crate) fn first_line(&mut self) -> String {
        let stdout = self.0.stdout.as_mut().expect("stdout is piped");
        let mut line = String::new();
        // One byte at a time, because the rest must stay in the pipe.
        BufReader::with_capacity(1, stdout).read_line(&mut line).expect("stdout is text");
        line
    }

    /// The next line of stderr that is not about a created journal.
    pub(crate) fn error_line(&mut self) -> String {
        let mut stderr = BufReader::with_capacity(1, self.0.stderr.as_mut().expect("stderr is piped"));
        loop {
            let mut line = String::new();
            stderr.read_line(&mut line).expect("stderr is text");
            if !line.starts_with(CREATED) {
                return line;
            }
        }
    }

    /// Like [`Self::wait_without_reading`], and sends this signal repeatedly, because the test cannot see when the command listens.
    pub(crate) fn signal_until_ended(self, name: &str) -> Option<i32> {
        // Until it has been waited for, a signal succeeds even if the process has ended.
        self.wait_while(|running| running.signal(name))
    }

    /// Waits for the end without reading the streams. Returns no code if the command hangs.
    pub(crate) fn wait_without_reading(self) -> Option<i32> {
        self.wait_while(|_| ())
    }

    fn wait_while(mut self, repeat: impl Fn(&Self)) -> Option<i32> {
        // Only a hang takes this long.
        let last = Instant::now() + Duration::from_mins(1);
        while Instant::now() < last {
            if let Some(status) = self.0.try_wait().expect("it can be waited for") {
                return status.code();
            }
            repeat(&self);
            thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// Like [`Self::wait_without_reading`], but reads stdout and returns it.
    pub(crate) fn wait_reading_stdout(mut self) -> (Option<i32>, String) {
        let stdout = read(self.0.stdout.take());
        (self.wait_without_reading(), stdout.join().expect("stdout was read"))
    }

    pub(crate) fn end(self) -> Ended {
        self.end_after(|_| ())
    }

    /// Ends it with this signal. Its streams are already read then, so its last words are not lost on a busy machine.
    pub(crate) fn end_by(self, signal: &str) -> Ended {
        self.end_after(|running| running.signal(signal))
    }

    fn end_after(mut self, stop: impl Fn(&Self)) -> Ended {
        let (stdout, stderr) = (read(self.0.stdout.take()), read(self.0.stderr.take()));
        stop(&self);
        let code = self.0.wait().expect("the command ends").code();
        let [stdout, stderr] = [stdout, stderr].map(|stream| stream.join().expect("it was read"));
        Ended { code, stdout, stderr }
    }
}

/// Reads a stream to its end, in another thread, so that none of them fills up.
fn read(stream: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut stream) = stream {
            stream.read_to_string(&mut text).expect("it is text");
        }
        text
    })
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Ended {
    /// Parses stdout as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert!(self.stdout.ends_with("}\n"), "stdout ends with the document: {self:?}");
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is one document: {error}: {self:?}"))
    }

    /// Checks the exit code of a failure in JSON and its outcome, and returns its error object.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32) -> Value {
        assert_eq!(self.code, Some(code), "{self:?}");
        let document = self.json();
        let outcome = match code {
            2 => "invalid",
            3 => "not_processed",
            5 => "unknown",
            _ => "rejected",
        };
        assert_eq!(document["outcome"], outcome, "{self:?}");
        let error = &document["error"];
        for name in ["kind", "message"] {
            assert!(error[name].is_string(), "{name}: {self:?}");
        }
        for name in ["http_status", "status_code", "transaction_id", "violations"] {
            assert!(error.get(name).is_some(), "{name}: {self:?}");
        }
        error.clone()
    }

    /// [`Self::failed`] with this kind.
    #[track_caller]
    pub(crate) fn failed_as(&self, code: i32, kind: &str) -> Value {
        let error = self.failed(code);
        assert_eq!(error["kind"], kind, "{self:?}");
        error
    }

    /// [`Self::failed`] with a message that contains this.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, part: impl AsRef<str>) -> Value {
        let error = self.failed(code);
        has(message(&error), [part]);
        error
    }

    /// The error object of a command that was refused with a message that contains this.
    #[track_caller]
    pub(crate) fn refused(&self, part: impl AsRef<str>) -> Value {
        self.fails(2, part)
    }

    /// The message of a command that was refused.
    #[track_caller]
    pub(crate) fn refusal(&self) -> String {
        message(&self.failed(2)).to_owned()
    }

    /// What is wrong with a refused file: `line field rule`, or `line key: field rule`.
    #[track_caller]
    pub(crate) fn wrong_rows(&self) -> Vec<String> {
        let error = self.failed(2);
        let text = |row: &Value, name: &str| row[name].as_str().map(str::to_owned);
        let wrong = |row: &Value| {
            let key = text(row, "key").map(|key| format!(" {key}:")).unwrap_or_default();
            let [field, rule] = ["field", "rule"].map(|name| text(row, name).expect("a text"));
            format!("{}{key} {field} {rule}", row["line"])
        };
        error["violations"].as_array().expect("a list").iter().map(wrong).collect()
    }

    /// Both streams.
    pub(crate) fn shown(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Checks that none of these is in any stream.
    #[track_caller]
    pub(crate) fn hides<S: AsRef<str>>(&self, secrets: impl IntoIterator<Item = S>) {
        for secret in secrets {
            assert!(!self.shown().contains(secret.as_ref()), "{}: {self:?}", secret.as_ref());
        }
    }

    /// Checks how a billing run ended that was not stopped.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, outcome: &str) -> &Self {
        self.ended_by(code, outcome, None)
    }

    /// Checks how a billing run ended, and why it was stopped.
    #[track_caller]
    pub(crate) fn stops(&self, code: i32, outcome: &str, reason: &str) -> &Self {
        self.ended_by(code, outcome, Some(reason))
    }

    #[track_caller]
    fn ended_by(&self, code: i32, outcome: &str, stopped: Option<&str>) -> &Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        let document = self.json();
        let reason = document["stopped"].get("reason").and_then(Value::as_str);
        assert_eq!((document["outcome"].as_str(), reason), (Some(outcome), stopped), "{self:?}");
        self
    }

    /// The number of rows of a billing run with this outcome.
    #[track_caller]
    pub(crate) fn count(&self, outcome: &str) -> u64 {
        self.json()["rows"][outcome]["count"].as_u64().unwrap_or_else(|| panic!("{outcome}: {self:?}"))
    }

    /// Checks the number of rows of each outcome that has any, and that every row is counted once.
    #[track_caller]
    pub(crate) fn counts(&self, expected: &Value) {
        let document = self.json();
        let rows = document["rows"].as_object().expect("an object").iter();
        let counts = rows.map(|(name, tally)| (name.clone(), tally["count"].clone()));
        let seen: serde_json::Map<_, _> = counts.filter(|(_, count)| *count != 0).collect();
        let sum: u64 = seen.values().map(|count| count.as_u64().expect("a count")).sum();
        assert_eq!(sum, 2 * self.count("total"), "{document}");
        assert_eq!(Value::from(seen), *expected, "{document}");
    }

    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Checks the exit code, and that nothing is on stderr.
    #[track_caller]
    pub(crate) fn quiet(self, code: i32) -> Self {
        assert_eq!((self.code, &*self.stderr), (Some(code), ""), "{self:?}");
        self
    }

    /// The transaction of a success, of this call or of an earlier one.
    #[track_caller]
    pub(crate) fn paid_id(&self) -> String {
        let document = self.json();
        assert_eq!((self.code, &document["outcome"]), (Some(0), &"processed".into()), "{self:?}");
        document["data"]["TransactionId"].as_str().expect("it has an id").to_owned()
    }

    /// Checks that a success is well formed, and returns its data.
    #[track_caller]
    pub(crate) fn processed(&self) -> Value {
        let document = self.json();
        assert_eq!((self.code, &document["outcome"]), (Some(0), &"processed".into()), "{self:?}");
        assert_eq!((&document["http_status"], self.diagnostics()), (&200.into(), ""), "{self:?}");
        document["data"].clone()
    }

    /// Stderr without the line about a journal that this command created.
    pub(crate) fn diagnostics(&self) -> &str {
        match self.stderr.split_once('\n') {
            Some((line, rest)) if line.starts_with(CREATED) => rest,
            _ => &self.stderr,
        }
    }
}

/// A server that treats every connection alike and records every request.
pub(crate) struct Peer {
    pub(crate) base_url: String,
    requests: Receiver<String>,
    address: SocketAddr,
    /// The addresses of the connections, in order.
    arrivals: Receiver<SocketAddr>,
}

/// What a [`Peer`] does once it has read a request.
#[derive(Clone)]
pub(crate) enum Then {
    Respond(Vec<u8>),
    RespondAndClose(Vec<u8>),
    Close,
    /// Keeps the connection open until the client leaves.
    Wait,
}

impl Peer {
    pub(crate) fn new(then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let address = listener.local_addr().expect("it is bound");
        let base_url = format!("http://{address}/api/v1/public");
        let (sender, requests) = channel();
        let (arrived, arrivals) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.expect("a connection");
                // The test may have ended.
                let _ = stream.peer_addr().map(|peer| arrived.send(peer));
                let (sender, then) = (sender.clone(), then.clone());
                thread::spawn(move || serve(stream, &sender, &then));
            }
        });
        Self { base_url, requests, address, arrivals }
    }

    /// Responds with this status, such as `200 OK`, and this body.
    pub(crate) fn responding(status: &str, body: &str) -> Self {
        Self::new(Then::Respond(response(status, body)))
    }

    /// The next complete request, head and body.
    #[track_caller]
    pub(crate) fn request(&self) -> String {
        self.requests.recv_timeout(Duration::from_mins(1)).expect("a request arrives")
    }

    /// The number of connections so far. Opens one itself to find the end of the list.
    pub(crate) fn connections(&self) -> usize {
        let last = TcpStream::connect(self.address).expect("it listens");
        let last = last.local_addr().expect("it is connected");
        let next = || self.arrivals.recv_timeout(Duration::from_mins(1)).expect("the last one arrives");
        std::iter::repeat_with(next).take_while(|peer| *peer != last).count()
    }

    /// The number of requests that [`Self::request`] has not returned.
    pub(crate) fn requests_left(&self) -> usize {
        self.requests.try_iter().count()
    }
}

pub(crate) fn response(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn serve(mut stream: TcpStream, sender: &Sender<String>, then: &Then) {
    while let Some(request) = read_request(&mut stream) {
        // The test may have ended.
        let _ = sender.send(request);
        match then {
            Then::Respond(response) => {
                if stream.write_all(response).is_err() {
                    return;
                }
            }
            Then::RespondAndClose(response) => {
                let _ = stream.write_all(response);
                return;
            }
            Then::Close => return,
            Then::Wait => {
                let _ = stream.read(&mut [0]);
                return;
            }
        }
    }
}

/// Reads one request with its body. `None` if the client has left.
pub(crate) fn read_request(stream: &mut impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).expect("a head is ASCII");
    let length = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase().strip_prefix("content-length:").map(|text| text.trim().to_owned())
        })
        .map_or(0, |text| text.parse().expect("a length"));
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(head + &String::from_utf8(body).expect("a body is text"))
}

/// The writing end of a pipe whose reading end is closed.
pub(crate) fn broken_pipe() -> io::PipeWriter {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    writer
}

/// A file on a disk without room.
#[cfg(unix)]
pub(crate) fn full_disk() -> std::fs::File {
    std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it can be opened")
}

/// A pipe whose buffer is full. Keep its reader alive and unread.
#[cfg(unix)]
pub(crate) fn full_pipe() -> (io::PipeReader, io::PipeWriter) {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

    let (reader, mut writer) = io::pipe().expect("a pipe");
    let flags = fcntl_getfl(&writer).expect("it has flags");
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).expect("it may be set");
    for size in [1024, 1] {
        while writer.write(&vec![b'x'; size]).is_ok() {}
    }
    // Restored, because the child process shares the flags.
    fcntl_setfl(&writer, flags).expect("it may be set");
    (reader, writer)
}

/// A file that is removed when this is dropped. It may hold a key, so only its owner can read it.
pub(crate) struct TemporaryFile(tempfile::NamedTempFile);

impl TemporaryFile {
    pub(crate) fn new(content: impl AsRef<[u8]>) -> Self {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(content.as_ref()).expect("it is writable");
        Self(file)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.path().to_str().expect("a plain path")
    }
}

/// Responses as the service's interface documents them.
pub(crate) mod responses {
    pub(crate) const RECORD: &str = r#"{"status":"success","status_code":100,"message":"Transaction Processed Successfully","data":{"TransactionId":"txn_1","BaseAmount":10.50,"Amount":10.50,"CardNumber":"***********0005","BillingState":null,"BillingCity":"","TransactionType":1,"Status":"1","NewField":[1.0]}}"#;
    pub(crate) const RECEIPT: &str = r#"{"status":"success","status_code":100,"message":"Transaction Processed Successfully","data":{"TransactionId":"txn_2"}}"#;
    pub(crate) const VOIDED: &str = r#"{"status":"success","status_code":100,"message":"Transaction Voided Successfully","data":{"TransactionId":"txn_3"}}"#;
    pub(crate) const TRANSACTION_FOUND: &str = r#"{"status_code":200,"message":"Transaction Details found successfully","data":{"TransactionId":"txn_1","Amount":10.50,"TransactionType":1,"Status":"1"}}"#;
    pub(crate) const CUSTOMER_FOUND: &str = r#"{"status_code":200,"message":"Customer Details found successfully","data":{"CustomerId":"cus_1","CustomerName":"Grace Hopper","CountryId":840,"StateId":5}}"#;
    pub(crate) const UNAUTHORIZED: &str =
        r#"{"status":"failed","status_code":401,"msg":"Unauthorized: Invalid API Key"}"#;
    pub(crate) const NOT_FOUND: &str =
        r#"{"status":"failed","status_code":404,"msg":"Transaction not found"}"#;
    pub(crate) const POSTAL_CODE: &str =
        r#"{"status":"failed","status_code":400,"msg":"bad request error: invalid postal code"}"#;
}
