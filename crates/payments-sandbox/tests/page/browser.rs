//! A headless Chromium for one test, controlled over `WebDriver`.

use std::env;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use fantoccini::error::CmdError;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;
use url::{ParseError, Url};

/// A browser with one page. All its processes end when it is dropped, and also when the test's process dies for any reason.
pub(crate) struct Browser {
    pub(crate) page: Client,
    _driver: Driver,
}

impl Browser {
    /// Opens a page and waits until it is connected to the sandbox.
    pub(crate) async fn open(url: &str) -> Self {
        let driver = Driver::start();
        // Chromium cannot use its own sandbox as root, and containers have little shared memory.
        let arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"];
        let profile = format!("--user-data-dir={}", driver.folder.path().join("profile").display());
        let arguments: Vec<_> = arguments.into_iter().chain([profile.as_str()]).collect();
        let capabilities = json!({
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
            "acceptInsecureCerts": true,
        });
        let Value::Object(capabilities) = capabilities else { unreachable!("it is an object") };
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let page = builder.capabilities(capabilities).connect(&driver.url).await.expect("Chromium starts");
        let browser = Self { page, _driver: driver };
        browser.resize(1200, 1000).await;
        browser.page.goto(url).await.unwrap();
        browser.until("return document.querySelector('#live').textContent === 'live'").await;
        browser
    }

    /// Waits until a script returns true.
    pub(crate) async fn until(&self, script: &str) {
        let wait = async {
            while self.run(script).await != true {
                // The pause between two checks; no test depends on its length.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(TIMEOUT, wait).await.is_err() {
            let text = self.run("return document.body.innerText").await;
            panic!("not in {TIMEOUT:?}: {script}\n{}", text.as_str().unwrap_or_default());
        }
    }

    /// Waits until the text of an element contains `text`, and returns the whole text.
    pub(crate) async fn until_shown(&self, selector: &str, text: &str) -> String {
        let shown = format!("document.querySelector({})?.innerText ?? ''", json!(selector));
        self.until(&format!("return ({shown}).replace(/\\s+/g, ' ').includes({})", json!(text))).await;
        let shown = self.run(&format!("return ({shown}).replace(/\\s+/g, ' ')")).await;
        shown.as_str().unwrap().to_owned()
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.page.find(Locator::Css(selector)).await.unwrap().click().await.unwrap();
    }

    pub(crate) async fn run(&self, script: &str) -> Value {
        self.page.execute(script, Vec::new()).await.unwrap()
    }

    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.developer_tools("Emulation.setDeviceMetricsOverride", &metrics).await;
    }

    /// Emulates the color scheme `light` or `dark`.
    pub(crate) async fn prefer(&self, colors: &str) {
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": colors}]});
        self.developer_tools("Emulation.setEmulatedMedia", &media).await;
    }

    async fn developer_tools(&self, command: &'static str, parameters: &Value) {
        let body = json!({"cmd": command, "params": parameters});
        self.issue("goog/cdp/execute", &body).await.unwrap();
    }

    /// The browser's console so far: script errors, violations of the policy, missing files.
    pub(crate) async fn console(&self) -> Value {
        self.issue("se/log", &json!({"type": "browser"})).await.unwrap()
    }

    async fn issue(&self, path: &'static str, body: &Value) -> Result<Value, CmdError> {
        self.page.issue_cmd(ChromiumCommand { path, body: body.to_string() }).await
    }

    /// Ends the session. A test that fails earlier only drops it.
    pub(crate) async fn close(self) {
        assert_eq!(self.console().await, json!([]), "the browser's console stays empty");
        self.page.clone().close().await.unwrap();
    }
}

/// Long enough for a machine that compiles at the same time, chosen by this test.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A command that is not in the `WebDriver` standard.
#[derive(Debug)]
struct ChromiumCommand {
    path: &'static str,
    body: String,
}

impl WebDriverCompatibleCommand for ChromiumCommand {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.clone()))
    }
}

/// A running chromedriver on a port that it chose. It and its browser are a process group.
struct Driver {
    url: String,
    process: Child,
    /// Kept open, because the driver may write to it while it runs.
    _stdout: BufReader<ChildStdout>,
    watcher: Child,
    folder: TempDir,
}

impl Driver {
    /// The driver listens on a free IPv6 port, then on the same IPv4 port, and ends if another program has that one. Then
    /// another one may get a port that is free.
    fn start() -> Self {
        (0..100).find_map(|_| Self::try_to_start()).expect("chromedriver finds a free port")
    }

    fn try_to_start() -> Option<Self> {
        let driver = find("chromedriver").expect("it was found before");
        let folder = tempfile::Builder::new().prefix("browser-").tempdir().unwrap();
        let mut process = Command::new(driver)
            .arg("--port=0")
            .env("TMPDIR", folder.path())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let watcher = Command::new("sh")
            .args(["-c", WATCHER, "sh", &process.id().to_string()])
            .process_group(0)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let port = stdout.by_ref().lines().find_map(|line| {
            let line = line.ok()?;
            line.split_once("started successfully on port ")?.1.trim_end_matches('.').parse::<u16>().ok()
        });
        let url = port.map(|port| format!("http://127.0.0.1:{port}"));
        let started = url.is_some();
        // Dropped, and so ended, if it did not start.
        let driver = Self { url: url.unwrap_or_default(), process, _stdout: stdout, watcher, folder };
        started.then_some(driver)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.watcher.stdin.take());
        let _ = self.watcher.wait();
        let _ = self.process.wait();
    }
}

/// Runs until this process ends for any reason, then kills the process group of the driver.
const WATCHER: &str = r#"while read -r _; do :; done; kill -KILL "-$1""#;

/// Whether a program is missing that these tests need. Then they are skipped, but in CI they fail.
pub(crate) fn is_missing() -> bool {
    let missing = ["chromedriver", "chromium", "curl"].into_iter().find(|program| find(program).is_none());
    if let Some(program) = missing {
        assert!(
            env::var_os("CI").is_none_or(|value| value != "true"),
            "{program} is not installed: {ADVICE}"
        );
        eprintln!("SKIPPED: {program} is not installed: {ADVICE}");
    }
    missing.is_some()
}

const ADVICE: &str = "on Debian, `apt-get install chromium chromium-driver curl`, as .ci/run does";

/// Finds a program in `PATH`.
fn find(program: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}
