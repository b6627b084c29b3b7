//! A registry with a sparse index on loopback: it has four routes, records every upload, and fails on demand.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Serves until the process ends.
#[derive(Clone)]
pub(crate) struct Registry {
    address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The versions of each crate.
    crates: BTreeMap<String, Vec<Entry>>,
    uploads: Vec<Upload>,
    /// A crate, how many of its next uploads fail, and how.
    faults: BTreeMap<String, (usize, Fault)>,
    /// How many responses of the index do not list a new upload of the crate.
    lags: BTreeMap<String, usize>,
    index_fails: bool,
}

struct Entry {
    version: String,
    /// The line in the index.
    line: Value,
    bytes: Vec<u8>,
    lag: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Upload {
    pub(crate) name: String,
    pub(crate) token: String,
    is_published: bool,
}

/// A fault of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Publishes nothing, and responds that the registry is busy.
    Busy,
    /// Publishes the version, and closes the connection without a response.
    LoseResponse,
}

impl Registry {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let registry = Self { address: listener.local_addr().unwrap().to_string(), state: Arc::default() };
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
        self.state().faults.insert(name.to_owned(), (times, fault));
    }

    /// The next responses of the index about a crate do not list a new upload of it.
    pub(crate) fn lag(&self, name: &str, responses: usize) {
        self.state().lags.insert(name.to_owned(), responses);
    }

    /// From now on the index responds with an error.
    pub(crate) fn fail_index(&self) {
        self.state().index_fails = true;
    }

    /// All uploads, published or not.
    pub(crate) fn uploads(&self) -> Vec<Upload> {
        self.state().uploads.clone()
    }

    /// The names of the published crates, in order.
    pub(crate) fn published(&self) -> Vec<String> {
        self.uploads().into_iter().filter(|upload| upload.is_published).map(|upload| upload.name).collect()
    }

    /// Adds a package that has only a manifest.
    pub(crate) fn add_version(&self, name: &str, version: &str) {
        let folder = tempfile::TempDir::new().unwrap();
        let package = folder.path().join(format!("{name}-{version}"));
        std::fs::create_dir_all(package.join("src")).unwrap();
        std::fs::write(package.join("src/lib.rs"), "").unwrap();
        let manifest = format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2024\"\n");
        std::fs::write(package.join("Cargo.toml"), manifest).unwrap();
        let mut tar = std::process::Command::new("tar");
        let tar = tar.arg("-czC").arg(folder.path()).arg(format!("{name}-{version}")).output().unwrap();
        let metadata = json!({"name": name, "vers": version, "deps": [], "features": {}});
        self.state().add(&metadata, tar.stdout);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Serves one request per connection.
    fn serve(&self, mut stream: &TcpStream) {
        let Some(request) = Request::read(stream) else { return };
        let root = format!("http://{}", self.address);
        let response = match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/index/config.json") => {
                Some((200, json!({"dl": format!("{root}/dl"), "api": root}).to_string().into()))
            }
            ("GET", path) if path.starts_with("/index/") => Some(self.state().index_file(path)),
            ("GET", path) if path.starts_with("/dl/") => Some(self.state().download(path)),
            ("PUT", "/api/v1/crates/new") => self.state().upload(&request),
            _ => Some((404, Vec::new())),
        };
        if let Some((status, body)) = response {
            let head = format!(
                "HTTP/1.1 {status} Status\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            // This fails if the client has ended.
            let _ = stream.write_all(&[head.as_bytes(), &body].concat());
        }
        let _ = stream.shutdown(Shutdown::Both);
    }
}

/// A status and a body.
type Response = (u16, Vec<u8>);

impl State {
    fn add(&mut self, metadata: &Value, bytes: Vec<u8>) {
        let name = metadata["name"].as_str().unwrap();
        let entry = Entry {
            version: metadata["vers"].as_str().unwrap().to_owned(),
            line: index_line(metadata, &bytes),
            lag: self.lags.get(name).copied().unwrap_or_default(),
            bytes,
        };
        self.crates.entry(name.to_owned()).or_default().push(entry);
    }

    fn index_file(&mut self, path: &str) -> Response {
        if self.index_fails {
            return (503, Vec::new());
        }
        let name = path.rsplit('/').next().unwrap();
        let mut lines = String::new();
        for entry in self.crates.get_mut(name).into_iter().flatten() {
            if entry.lag > 0 {
                entry.lag -= 1;
            } else {
                writeln!(lines, "{}", entry.line).unwrap();
            }
        }
        (if lines.is_empty() { 404 } else { 200 }, lines.into())
    }

    /// `/dl/NAME/VERSION/download`
    fn download(&self, path: &str) -> Response {
        let parts: Vec<_> = path.split('/').collect();
        let entries = self.crates.get(parts[2]).into_iter().flatten();
        let entry = entries.into_iter().find(|entry| entry.version == parts[3]);
        entry.map_or((404, Vec::new()), |entry| (200, entry.bytes.clone()))
    }

    fn upload(&mut self, request: &Request) -> Option<Response> {
        let (metadata, bytes) = parts(&request.body);
        let (name, version) = (metadata["name"].as_str().unwrap(), metadata["vers"].as_str().unwrap());
        let fault = self.faults.get_mut(name).filter(|(times, _)| *times > 0).map(|(times, fault)| {
            *times -= 1;
            *fault
        });
        let exists =
            self.crates.get(name).is_some_and(|all| all.iter().any(|entry| entry.version == version));
        let is_published = !exists && fault != Some(Fault::Busy);
        self.uploads.push(Upload { name: name.to_owned(), token: request.token.clone(), is_published });
        if is_published {
            self.add(&metadata, bytes);
        }
        match fault {
            Some(Fault::Busy) => Some((503, b"<h1>busy</h1>".to_vec())),
            Some(Fault::LoseResponse) => None,
            // The message and status of crates.io.
            None if exists => {
                let detail = format!("crate version `{version}` is already uploaded");
                Some((400, json!({"errors": [{"detail": detail}]}).to_string().into()))
            }
            None => Some((200, b"{}".to_vec())),
        }
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
        let mut dependency = dependency.clone();
        dependency["req"] = dependency["version_req"].take();
        dependency
    });
    let checksum = Sha256::digest(bytes).iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    json!({
        "name": metadata["name"], "vers": metadata["vers"], "deps": dependencies.collect::<Vec<_>>(),
        "features": metadata["features"], "yanked": false, "cksum": checksum,
    })
}

struct Request {
    method: String,
    path: String,
    token: String,
    body: Vec<u8>,
}

impl Request {
    fn read(mut stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        if headers.contains_key("expect") {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { method, path, token: headers.remove("authorization").unwrap_or_default(), body })
    }
}
