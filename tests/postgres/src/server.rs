use std::env;
use std::fs::{self, Permissions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use tempfile::TempDir;

use crate::Binaries;
use crate::template::{ServerUser, copy_to, initdb};

/// A running server with one empty database. Dropping it stops the server and removes its folder.
#[derive(Debug)]
pub struct Server {
    folder: PathBuf,
    user: ServerUser,
    port: u16,
    /// Bound to the port and not listening, so that no other process takes it before the server starts, or while it is stopped.
    _reserved: Socket,
    shell: Child,
    commands: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

/// Names and values for `postgresql.conf` that differ from PostgreSQL's defaults.
pub type Settings<'a> = &'a [(&'a str, &'a str)];

/// How a server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shutdown {
    /// Like a crash: the server stops without cleaning up, and recovers at the next start.
    Immediate,
    /// Connections are closed, and open transactions are rolled back.
    Fast,
}

impl Server {
    /// Starts a server with the default settings. Returns `None` on a machine without PostgreSQL.
    ///
    /// # Panics
    ///
    /// If the server does not start, or if PostgreSQL is missing and `CI=true`.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// The same with other settings.
    ///
    /// # Panics
    ///
    /// Like [`start`](Self::start).
    #[allow(clippy::print_stderr, reason = "a skipped test must be visible")]
    pub fn start_with(settings: Settings<'_>) -> Option<Self> {
        let Some(binaries) = Binaries::find() else {
            assert!(env::var_os("CI").is_none_or(|value| value != "true"), "no PostgreSQL is installed");
            eprintln!("skipped: no PostgreSQL is installed");
            return None;
        };
        Some(
            Self::start_of(&binaries, settings, copy_to)
                .unwrap_or_else(|error| panic!("PostgreSQL does not start: {error}")),
        )
    }

    /// As [`start`](Self::start), of another cluster than all others, as `initdb` makes one: it takes about a second.
    ///
    /// # Panics
    ///
    /// If the server does not start.
    pub fn of_a_new_cluster() -> Option<Self> {
        let started = Self::start_of(&Binaries::find()?, &[], |data, binaries, user| {
            user.own(data.parent().unwrap_or(data))?;
            initdb(data, binaries, user)
        });
        Some(started.unwrap_or_else(|error| panic!("PostgreSQL does not start: {error}")))
    }

    /// The URL of the database, over the Unix socket, as superuser.
    ///
    /// # Panics
    ///
    /// If the path of the temporary folder is not UTF-8.
    pub fn url(&self) -> String {
        let folder = self.folder.to_str().expect("the path of the temporary folder is UTF-8");
        format!("postgres://postgres@{}:{}/postgres", folder.replace('/', "%2F"), self.port)
    }

    /// The path of the Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.port))
    }

    /// The port in the socket's name. Also the port on 127.0.0.1, if `listen_addresses` contains it.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Writes a file into the data directory that only the server may read. Most files take effect at the next start.
    ///
    /// # Panics
    ///
    /// If the file cannot be written.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.folder.join("data").join(name);
        let written = fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o600)))
            .and_then(|()| self.user.own(&path));
        written.expect("the data directory is writable");
    }

    /// Stops the server and waits until it has ended.
    ///
    /// # Panics
    ///
    /// If the server cannot be stopped.
    pub fn stop(&mut self, how: Shutdown) {
        let signal = match how {
            Shutdown::Immediate => "QUIT",
            Shutdown::Fast => "INT",
        };
        self.command(signal).expect("the server stops");
    }

    /// Starts the server again and waits until it accepts connections.
    ///
    /// # Panics
    ///
    /// If the server does not start.
    pub fn start_again(&mut self) {
        self.command("START").and_then(|()| self.wait_until_ready()).expect("the server starts again");
    }

    fn start_of(
        binaries: &Binaries,
        settings: Settings<'_>,
        create: impl FnOnce(&Path, &Binaries, ServerUser) -> io::Result<()>,
    ) -> io::Result<Self> {
        // The shell removes the folder, because it outlives this process.
        let folder = tempfile::Builder::new().prefix("postgres-").tempdir().map(TempDir::keep)?;
        let user = ServerUser::of_this_process(&folder)?;
        // Only a server with `listen_addresses` uses it as a TCP port.
        let reserved = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        reserved.set_reuse_address(true)?;
        reserved.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
        let port = reserved.local_addr()?.as_socket().map_or(0, |address| address.port());
        let configuration = configuration(&folder, port, settings);
        let prepared = create(&folder.join("data"), binaries, user)
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
        let commands = shell.stdin.take();
        let replies = BufReader::new(shell.stdout.take().expect("stdout is piped"));
        let mut this = Self { folder, user, port, _reserved: reserved, shell, commands, replies };
        this.command("START")?;
        this.wait_until_ready()?;
        Ok(this)
    }

    fn command(&mut self, command: &str) -> io::Result<()> {
        let commands = self.commands.as_mut().expect("the pipe is open until the server is dropped");
        writeln!(commands, "{command}")?;
        commands.flush()?;
        let mut reply = String::new();
        self.replies.read_line(&mut reply)?;
        if reply == "done\n" { Ok(()) } else { Err(io::Error::other("the shell has ended")) }
    }

    /// Reads the status file, like `pg_ctl`.
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
        Err(io::Error::other(format!("the server is not ready in time:\n{log}")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.commands.take());
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
        // It would start at unpredictable times.
        ("autovacuum", "off"),
    ];
    let lines = own.iter().chain(settings).map(|(name, value)| format!("{name} = '{value}'\n"));
    lines.collect()
}

const LONGEST_START: Duration = Duration::from_mins(1);

/// Executes commands until its input ends, which happens whenever this process ends.
const SHELL: &str = r#"
postgres=$1 folder=$2 server=
stop() {
    if [ -n "$server" ]; then
        # Until it has started, it ignores the signals that a shell ignores for it.
        while kill "-$1" "$server" 2>/dev/null; do sleep 0.02; done
        wait "$server"
        server=
    fi
}
while read -r command; do
    case $command in
        START) "$postgres" -D "$folder/data" </dev/null >>"$folder/log" 2>&1 & server=$! ;;
        *) stop "$command" ;;
    esac
    echo done
done
stop QUIT
rm -rf "$folder"
"#;
