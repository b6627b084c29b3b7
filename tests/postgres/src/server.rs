use std::env;
use std::fs::{self, Permissions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Binaries;
use crate::template::{ServerUser, copy_to};

/// A running server with one empty database. Dropping it ends it and removes its folder.
#[derive(Debug)]
pub struct Server {
    folder: PathBuf,
    user: ServerUser,
    port: u16,
    shell: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// What differs from PostgreSQL's defaults: lines of `postgresql.conf`.
pub type Settings<'a> = &'a [(&'a str, &'a str)];

/// How a server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shutdown {
    /// As if it had crashed: nothing is ended in order, and the next start recovers.
    Immediate,
    /// Connections are ended, and what is in the middle of a transaction is undone.
    Fast,
}

impl Server {
    /// A server with the default settings, or `None` on a machine without PostgreSQL.
    ///
    /// # Panics
    ///
    /// If it does not start; and if there is no PostgreSQL where `CI=true`.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// The same with other settings.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[allow(clippy::print_stderr, reason = "a test that shows nothing says so")]
    pub fn start_with(settings: Settings<'_>) -> Option<Self> {
        let Some(binaries) = Binaries::find() else {
            assert!(env::var_os("CI").is_none_or(|value| value != "true"), "no PostgreSQL is installed");
            eprintln!("skipped: no PostgreSQL is installed");
            return None;
        };
        Some(
            Self::start_of(&binaries, settings)
                .unwrap_or_else(|error| panic!("PostgreSQL does not start: {error}")),
        )
    }

    /// How to reach its database, over its Unix socket, as its superuser.
    ///
    /// # Panics
    ///
    /// If the temporary folder's name is no text.
    pub fn url(&self) -> String {
        let folder = self.folder.to_str().expect("the temporary folder's name is a text");
        format!("postgres://postgres@{}:{}/postgres", folder.replace('/', "%2F"), self.port)
    }

    /// Where its socket is.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.port))
    }

    /// The port of its socket's name, and of 127.0.0.1 once its `listen_addresses` say so.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Writes a file into its folder of data, which only the server may read. Most count from the next start.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.folder.join("data").join(name);
        let written = fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o600)))
            .and_then(|()| self.user.own(&path));
        written.expect("the folder of data can be written");
    }

    /// Stops it and waits until it is gone.
    ///
    /// # Panics
    ///
    /// If it cannot be stopped.
    pub fn stop(&mut self, how: Shutdown) {
        let order = match how {
            Shutdown::Immediate => "QUIT",
            Shutdown::Fast => "INT",
        };
        self.order(order).expect("it can be stopped");
    }

    /// Starts it again, and waits until it answers.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_again(&mut self) {
        self.order("START").and_then(|()| self.wait_until_ready()).expect("it starts again");
    }

    fn start_of(binaries: &Binaries, settings: Settings<'_>) -> io::Result<Self> {
        // The shell removes it, which outlives this process.
        let folder = tempfile::Builder::new().prefix("postgres-").tempdir().map(TempDir::keep)?;
        let user = ServerUser::of_this_process(&folder)?;
        // Free at this moment, and only taken by a server that is told to listen there.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let configuration = configuration(&folder, port, settings);
        let prepared = copy_to(&folder.join("data"), binaries, user)
            .and_then(|()| fs::write(folder.join("data/postgresql.auto.conf"), configuration))
            .and_then(|()| user.own(&folder));
        if let Err(error) = prepared {
            let _ = fs::remove_dir_all(&folder);
            return Err(error);
        }
        let mut command = Command::new("sh");
        command
            .args(["-c", SHELL, "sh"])
            .arg(binaries.postgres())
            .arg(&folder)
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut shell = user.run(&mut command).spawn()?;
        let orders = shell.stdin.take();
        let answers = BufReader::new(shell.stdout.take().expect("it is piped"));
        let mut this = Self { folder, user, port, shell, orders, answers };
        this.order("START")?;
        this.wait_until_ready()?;
        Ok(this)
    }

    fn order(&mut self, order: &str) -> io::Result<()> {
        let orders = self.orders.as_mut().expect("it is open until this is dropped");
        writeln!(orders, "{order}")?;
        orders.flush()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        if answer == "done\n" { Ok(()) } else { Err(io::Error::other("its shell has ended")) }
    }

    /// As `pg_ctl` does it.
    fn wait_until_ready(&self) -> io::Result<()> {
        let began = Instant::now();
        while began.elapsed() < LONGEST_START {
            let status = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap_or_default();
            if status.lines().nth(7).is_some_and(|line| ["ready", "standby"].contains(&line.trim())) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        Err(io::Error::other(format!("it is not ready in time:\n{log}")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.shell.wait();
    }
}

fn configuration(folder: &Path, port: u16, settings: Settings<'_>) -> String {
    let (folder, port) = (folder.display().to_string(), port.to_string());
    let own: [(&str, &str); 7] = [
        ("listen_addresses", ""),
        ("port", &port),
        ("unix_socket_directories", &folder),
        ("shared_buffers", "16MB"),
        ("max_wal_size", "64MB"),
        ("fsync", "on"),
        // What runs seldom would only disturb.
        ("autovacuum", "off"),
    ];
    let lines = own.iter().chain(settings).map(|(name, value)| format!("{name} = '{value}'\n"));
    lines.collect()
}

const LONGEST_START: Duration = Duration::from_mins(1);

/// Serves orders until its input ends, which it does when this process ends, however that happens.
const SHELL: &str = r#"
postgres=$1 folder=$2 server=
stop() {
    if [ -n "$server" ]; then
        kill "-$1" "$server"
        wait "$server"
        server=
    fi
}
while read -r order; do
    case $order in
        START) "$postgres" -D "$folder/data" </dev/null >>"$folder/log" 2>&1 & server=$! ;;
        *) stop "$order" ;;
    esac
    echo done
done
stop QUIT
rm -rf "$folder"
"#;
