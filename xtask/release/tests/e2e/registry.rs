//! A registry with a sparse index, on loopback: four routes, an account of all that it was asked, and faults on demand.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Serves until the process ends.
#[derive(Clone)]
pub(crate) struct Registry {
    pub(crate) address: String,
    state: Arc<Mutex<State>>,
}

/// What it has, what it was asked, and what goes wrong with it.
#[derive(Clone, Default)]
pub(crate) struct State {
    crates: BTreeMap<String, Vec<Entry>>,
    puts: Vec<Put>,
    /// For the PUT of a crate: how many times, and what.
    faults: Vec<(String, usize, Fault)>,
    /// A crate, and how many answers of the index about it will be without what is taken from now on.
    lag: Option<(String, usize)>,
    /// The process that the faults kill, and its group.
    group: Option<u32>,
    index_status: Option<u16>,
}

/// One version that was taken.
#[derive(Clone)]
struct Entry {
    version: String,
    line: Value,
    bytes: Vec<u8>,
    /// How many answers of the index are still without it.
    lag: usize,
}

/// One upload, as it was received.
#[derive(Clone, Debug)]
pub(crate) struct Put {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) checksum: String,
    /// Whether it is on the registry now because of this upload.
    pub(crate) taken: bool,
    pub(crate) token: Option<String>,
}

/// What goes wrong with an upload.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Nothing is taken, and this is answered.
    Refuse { status: u16, headers: &'static str, body: &'static str },
    /// It is taken, and the connection breaks.
    LoseAnswer,
    /// Nothing is taken, a line of shell is run, and it is answered that the registry is busy.
    Meanwhile(String),
    /// The sender is killed when all of it has arrived, and nothing is taken.
    KillBefore,
    /// It is taken, and the sender is killed before it is told.
    KillAfter,
    /// It is taken, and the release is killed, but not cargo, which goes on by itself.
    KillAlone,
}

impl Fault {
    pub(crate) const BUSY: Self = Self::Refuse { status: 503, headers: "", body: "<h1>busy</h1>" };
}

impl Registry {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let registry = Self { address, state: Arc::default() };
        let serving = registry.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let registry = serving.clone();
                thread::spawn(move || registry.serve(&stream.unwrap()));
            }
        });
        registry
    }

    /// What cargo's configuration calls its index.
    pub(crate) fn index(&self) -> String {
        format!("sparse+http://{}/index/", self.address)
    }

    /// Arms a fault for the next so many uploads of a crate.
    pub(crate) fn arm(&self, name: &str, times: usize, fault: Fault) {
        self.state().faults.push((name.to_owned(), times, fault));
    }

    /// The registry is well again.
    pub(crate) fn heal(&self) {
        let mut state = self.state();
        state.faults.clear();
        state.lag = None;
        state.index_status = None;
    }

    /// What is taken of a crate from now on is not in the next so many answers of the index about it.
    pub(crate) fn lag(&self, name: &str, answers: usize) {
        self.state().lag = Some((name.to_owned(), answers));
    }

    /// The index answers everything with this status.
    pub(crate) fn index_answers(&self, status: u16) {
        self.state().index_status = Some(status);
    }

    pub(crate) fn may_kill(&self, group: u32) {
        self.state().group = Some(group);
    }

    /// Everything that was uploaded, taken or not.
    pub(crate) fn puts(&self) -> Vec<Put> {
        self.state().puts.clone()
    }

    pub(crate) fn save(&self) -> State {
        self.state().clone()
    }

    pub(crate) fn restore(&self, saved: &State) {
        *self.state() = saved.clone();
    }

    /// The names of what was taken, in order.
    pub(crate) fn taken(&self) -> Vec<String> {
        self.puts().into_iter().filter(|put| put.taken).map(|put| put.name).collect()
    }

    /// The SHA-256 that the index has of a version.
    pub(crate) fn checksum(&self, name: &str, version: &str) -> Option<String> {
        let state = self.state();
        let entry = state.crates.get(name)?.iter().find(|entry| entry.version == version)?;
        Some(entry.line["cksum"].as_str().unwrap().to_owned())
    }

    /// Puts a version there of which nobody here knows anything.
    pub(crate) fn plant(&self, name: &str, version: &str, yanked: bool) {
        let bytes = b"other bytes".to_vec();
        let line = json!({
            "name": name, "vers": version, "deps": [], "features": {}, "yanked": yanked, "cksum": checksum(&bytes),
        });
        let entry = Entry { version: version.to_owned(), line, bytes, lag: 0 };
        self.state().crates.entry(name.to_owned()).or_default().push(entry);
    }

    /// Yanks every version of a crate.
    pub(crate) fn yank(&self, name: &str) {
        for entry in self.state().crates.get_mut(name).unwrap() {
            entry.line["yanked"] = json!(true);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// One request on each connection.
    fn serve(&self, mut stream: &TcpStream) {
        let Some(request) = Request::read(stream) else { return };
        let answer = match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/index/config.json") => {
                let root = format!("http://{}", self.address);
                Some(Answer::ok(json!({"dl": format!("{root}/dl"), "api": root}).to_string()))
            }
            ("GET", path) if path.starts_with("/index/") => Some(self.index_file(path)),
            ("GET", path) if path.starts_with("/dl/") => Some(self.download(path)),
            ("PUT", "/api/v1/crates/new") => self.upload(&request),
            _ => Some(Answer::of(404)),
        };
        if let Some(answer) = answer {
            // Whoever asked may have been killed.
            let _ = stream.write_all(&answer.bytes());
        }
        let _ = stream.shutdown(Shutdown::Both);
    }

    fn index_file(&self, path: &str) -> Answer {
        let mut state = self.state();
        if let Some(status) = state.index_status {
            return Answer::of(status);
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        let mut lines = String::new();
        for entry in state.crates.get_mut(name).into_iter().flatten() {
            if entry.lag > 0 {
                entry.lag -= 1;
            } else {
                writeln!(lines, "{}", entry.line).unwrap();
            }
        }
        if lines.is_empty() { Answer::of(404) } else { Answer::ok(lines) }
    }

    /// `/dl/NAME/VERSION/download`
    fn download(&self, path: &str) -> Answer {
        let parts: Vec<_> = path.split('/').collect();
        let state = self.state();
        let entry = state.crates.get(parts[2]).and_then(|all| all.iter().find(|one| one.version == parts[3]));
        entry.map_or_else(|| Answer::of(404), |entry| Answer { body: entry.bytes.clone(), ..Answer::of(200) })
    }

    fn upload(&self, request: &Request) -> Option<Answer> {
        let (metadata, bytes) = parts(&request.body);
        let text = |key: &str| metadata[key].as_str().unwrap().to_owned();
        let (name, version) = (text("name"), text("vers"));
        let mut state = self.state();
        let fault = state.next_fault(&name);
        let is_there =
            state.crates.get(&name).is_some_and(|all| all.iter().any(|entry| entry.version == version));
        let taken = !is_there
            && !matches!(fault, Some(Fault::Refuse { .. } | Fault::Meanwhile(_) | Fault::KillBefore));
        state.puts.push(Put {
            name: name.clone(),
            version: version.clone(),
            checksum: checksum(&bytes),
            taken,
            token: request.header("authorization"),
        });
        if taken {
            let lag = state.lag.as_ref().filter(|(of, _)| *of == name).map_or(0, |(_, answers)| *answers);
            let line = index_line(&metadata, &bytes);
            state.crates.entry(name).or_default().push(Entry { version: version.clone(), line, bytes, lag });
        }
        match fault {
            Some(Fault::Refuse { status, headers, body }) => {
                Some(Answer { headers, body: body.into(), ..Answer::of(status) })
            }
            Some(Fault::Meanwhile(line)) => {
                assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
                Some(Answer::of(503))
            }
            Some(Fault::LoseAnswer) => None,
            Some(Fault::KillBefore | Fault::KillAfter) => {
                kill(&format!("-{}", state.group.expect("the test says whom to kill")));
                None
            }
            Some(Fault::KillAlone) => {
                kill(&state.group.expect("the test says whom to kill").to_string());
                Some(Answer::ok("{}".to_owned()))
            }
            // In the words of crates.io, and with its status.
            None if is_there => Some(Answer {
                body:
                    json!({"errors": [{"detail": format!("crate version `{version}` is already uploaded")}]})
                        .to_string()
                        .into(),
                ..Answer::of(400)
            }),
            None => Some(Answer::ok("{}".to_owned())),
        }
    }
}

impl State {
    fn next_fault(&mut self, name: &str) -> Option<Fault> {
        let (_, times, fault) = self.faults.iter_mut().find(|(of, times, _)| of == name && *times > 0)?;
        *times -= 1;
        Some(fault.clone())
    }
}

/// The metadata and the `.crate` file, each after its length.
fn parts(body: &[u8]) -> (Value, Vec<u8>) {
    let (length, rest) = body.split_first_chunk().unwrap();
    let (metadata, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
    let (length, file) = rest.split_first_chunk().unwrap();
    assert_eq!(u32::from_le_bytes(*length) as usize, file.len());
    (serde_json::from_slice(metadata).unwrap(), file.to_vec())
}

/// What the index says of an upload; the two formats differ in a few names.
fn index_line(metadata: &Value, bytes: &[u8]) -> Value {
    let dependencies = metadata["deps"].as_array().unwrap().iter().map(|dependency| {
        json!({
            "name": dependency["name"], "req": dependency["version_req"], "features": dependency["features"],
            "optional": dependency["optional"], "default_features": dependency["default_features"],
            "target": dependency["target"], "kind": dependency["kind"], "registry": dependency["registry"],
        })
    });
    json!({
        "name": metadata["name"], "vers": metadata["vers"], "deps": dependencies.collect::<Vec<_>>(),
        "features": metadata["features"], "yanked": false, "cksum": checksum(bytes),
    })
}

fn checksum(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

/// One process, or with a minus sign its whole group at once, as a power cut would.
fn kill(whom: &str) {
    Command::new("sh").args(["-c", &format!("kill -KILL {whom}")]).status().unwrap();
}

struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn read(mut stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let mut request = Self { method, path, headers, body: Vec::new() };
        if request.header("expect").is_some() {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
        }
        let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
        request.body.resize(length, 0);
        reader.read_exact(&mut request.body).ok()?;
        Some(request)
    }

    fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone())
    }
}

struct Answer {
    status: u16,
    /// Whole lines.
    headers: &'static str,
    body: Vec<u8>,
}

impl Answer {
    fn ok(body: String) -> Self {
        Self { body: body.into(), ..Self::of(200) }
    }

    fn of(status: u16) -> Self {
        Self { status, headers: "", body: Vec::new() }
    }

    fn bytes(&self) -> Vec<u8> {
        let head = format!(
            "HTTP/1.1 {} Said\r\n{}Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.status,
            self.headers,
            self.body.len()
        );
        [head.as_bytes(), &self.body].concat()
    }
}
