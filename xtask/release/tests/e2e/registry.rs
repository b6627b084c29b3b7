//! A registry with a sparse index on loopback: it has four routes, records every upload, and fails on demand.

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

/// The registry's crates, uploads and faults.
#[derive(Clone, Default)]
pub(crate) struct State {
    crates: BTreeMap<String, Vec<Entry>>,
    uploads: Vec<Upload>,
    /// A crate, how many of its next uploads fail, and how.
    faults: Vec<(String, usize, Fault)>,
    /// A crate, and how many index responses about it do not list a new upload yet.
    lag: Option<(String, usize)>,
    /// The process that the faults kill. It leads a process group.
    kill_target: Option<u32>,
    index_status: Option<u16>,
}

/// One published version.
#[derive(Clone)]
struct Entry {
    version: String,
    line: Value,
    bytes: Vec<u8>,
    /// How many index responses still do not list it.
    lag: usize,
}

/// One received upload.
#[derive(Clone, Debug)]
pub(crate) struct Upload {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) checksum: String,
    /// Whether this upload published the version.
    pub(crate) is_published: bool,
    pub(crate) token: Option<String>,
}

/// A fault of an upload.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Publishes nothing, and sends this response.
    Refuse { status: u16, headers: &'static str, body: &'static str },
    /// Publishes the version, and closes the connection without a response.
    LoseResponse,
    /// Publishes nothing, runs this shell command, and responds that the registry is busy.
    Meanwhile(String),
    /// Publishes nothing, and kills the sender after the whole upload has arrived.
    KillBefore,
    /// Publishes the version, and kills the sender before it responds.
    KillAfter,
    /// Publishes the version, and kills the release program but not the cargo that it has started.
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

    /// The address of the index in cargo's configuration.
    pub(crate) fn index(&self) -> String {
        format!("sparse+http://{}/index/", self.address)
    }

    /// Sets a fault for a crate's next uploads.
    pub(crate) fn arm(&self, name: &str, times: usize, fault: Fault) {
        self.state().faults.push((name.to_owned(), times, fault));
    }

    /// Removes all faults.
    pub(crate) fn clear_faults(&self) {
        let mut state = self.state();
        state.faults.clear();
        state.lag = None;
        state.index_status = None;
    }

    /// The next index responses about a crate do not list a new upload of it.
    pub(crate) fn lag(&self, name: &str, responses: usize) {
        self.state().lag = Some((name.to_owned(), responses));
    }

    /// The index responds to every request with this status.
    pub(crate) fn fail_index(&self, status: u16) {
        self.state().index_status = Some(status);
    }

    /// Sets the process that the faults kill.
    pub(crate) fn set_kill_target(&self, process: u32) {
        self.state().kill_target = Some(process);
    }

    /// All uploads, published or not.
    pub(crate) fn uploads(&self) -> Vec<Upload> {
        self.state().uploads.clone()
    }

    pub(crate) fn save(&self) -> State {
        self.state().clone()
    }

    pub(crate) fn restore(&self, saved: &State) {
        *self.state() = saved.clone();
    }

    /// The names of the published crates, in order.
    pub(crate) fn published(&self) -> Vec<String> {
        self.uploads().into_iter().filter(|upload| upload.is_published).map(|upload| upload.name).collect()
    }

    /// The SHA-256 of a version in the index.
    pub(crate) fn checksum(&self, name: &str, version: &str) -> Option<String> {
        let state = self.state();
        let entry = state.crates.get(name)?.iter().find(|entry| entry.version == version)?;
        Some(entry.line["cksum"].as_str().unwrap().to_owned())
    }

    /// Adds a version that this repository does not know.
    pub(crate) fn add_version(&self, name: &str, version: &str, yanked: bool) {
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

    /// Serves one request per connection.
    fn serve(&self, mut stream: &TcpStream) {
        let Some(request) = Request::read(stream) else { return };
        let response = match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/index/config.json") => {
                let root = format!("http://{}", self.address);
                Some(Response::ok(json!({"dl": format!("{root}/dl"), "api": root}).to_string()))
            }
            ("GET", path) if path.starts_with("/index/") => Some(self.index_file(path)),
            ("GET", path) if path.starts_with("/dl/") => Some(self.download(path)),
            ("PUT", "/api/v1/crates/new") => self.upload(&request),
            _ => Some(Response::of(404)),
        };
        if let Some(response) = response {
            // This fails if the client was killed.
            let _ = stream.write_all(&response.bytes());
        }
        let _ = stream.shutdown(Shutdown::Both);
    }

    fn index_file(&self, path: &str) -> Response {
        let mut state = self.state();
        if let Some(status) = state.index_status {
            return Response::of(status);
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
        if lines.is_empty() { Response::of(404) } else { Response::ok(lines) }
    }

    /// `/dl/NAME/VERSION/download`
    fn download(&self, path: &str) -> Response {
        let parts: Vec<_> = path.split('/').collect();
        let state = self.state();
        let entry = state.crates.get(parts[2]).and_then(|all| all.iter().find(|one| one.version == parts[3]));
        entry.map_or_else(
            || Response::of(404),
            |entry| Response { body: entry.bytes.clone(), ..Response::of(200) },
        )
    }

    fn upload(&self, request: &Request) -> Option<Response> {
        let (metadata, bytes) = parts(&request.body);
        let text = |key: &str| metadata[key].as_str().unwrap().to_owned();
        let (name, version) = (text("name"), text("vers"));
        let mut state = self.state();
        let fault = state.next_fault(&name);
        let exists =
            state.crates.get(&name).is_some_and(|all| all.iter().any(|entry| entry.version == version));
        let is_published =
            !exists && !matches!(fault, Some(Fault::Refuse { .. } | Fault::Meanwhile(_) | Fault::KillBefore));
        state.uploads.push(Upload {
            name: name.clone(),
            version: version.clone(),
            checksum: checksum(&bytes),
            is_published,
            token: request.header("authorization"),
        });
        if is_published {
            let lag = state.lag.as_ref().filter(|(of, _)| *of == name).map_or(0, |(_, responses)| *responses);
            let line = index_line(&metadata, &bytes);
            state.crates.entry(name).or_default().push(Entry { version: version.clone(), line, bytes, lag });
        }
        match fault {
            Some(Fault::Refuse { status, headers, body }) => {
                Some(Response { headers, body: body.into(), ..Response::of(status) })
            }
            Some(Fault::Meanwhile(line)) => {
                assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
                Some(Response::of(503))
            }
            Some(Fault::LoseResponse) => None,
            Some(Fault::KillBefore | Fault::KillAfter) => {
                kill(&format!("-{}", state.kill_target.expect("the test has set the target")));
                None
            }
            Some(Fault::KillAlone) => {
                kill(&state.kill_target.expect("the test has set the target").to_string());
                Some(Response::ok("{}".to_owned()))
            }
            // The message and status of crates.io.
            None if exists => Some(Response {
                body:
                    json!({"errors": [{"detail": format!("crate version `{version}` is already uploaded")}]})
                        .to_string()
                        .into(),
                ..Response::of(400)
            }),
            None => Some(Response::ok("{}".to_owned())),
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

/// The metadata and the `.crate` file; each follows its length.
fn parts(body: &[u8]) -> (Value, Vec<u8>) {
    let (length, rest) = body.split_first_chunk().unwrap();
    let (metadata, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
    let (length, file) = rest.split_first_chunk().unwrap();
    assert_eq!(u32::from_le_bytes(*length) as usize, file.len());
    (serde_json::from_slice(metadata).unwrap(), file.to_vec())
}

/// The index's line for an upload. The formats of upload and index differ in a few names.
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

/// Kills a process, or its whole group if the number is negative, as a power failure would.
fn kill(process: &str) {
    Command::new("sh").args(["-c", &format!("kill -KILL {process}")]).status().unwrap();
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

struct Response {
    status: u16,
    /// Whole lines.
    headers: &'static str,
    body: Vec<u8>,
}

impl Response {
    fn ok(body: String) -> Self {
        Self { body: body.into(), ..Self::of(200) }
    }

    fn of(status: u16) -> Self {
        Self { status, headers: "", body: Vec::new() }
    }

    fn bytes(&self) -> Vec<u8> {
        let head = format!(
            "HTTP/1.1 {} Status\r\n{}Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.status,
            self.headers,
            self.body.len()
        );
        [head.as_bytes(), &self.body].concat()
    }
}
