use std::env;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Binaries;

/// The user that the server runs as: `nobody`, if this process runs as root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerUser(Option<(u32, u32)>);

impl ServerUser {
    pub(crate) fn of_this_process(folder: &Path) -> io::Result<Self> {
        // This process has just created the folder, so its owner is the current user.
        let is_root = fs::metadata(folder)?.uid() == 0;
        Ok(Self(is_root.then_some((NOBODY, NOBODY))))
    }

    pub(crate) fn own(self, path: &Path) -> io::Result<()> {
        self.0.map_or(Ok(()), |(user, group)| chown(path, Some(user), Some(group)))
    }

    pub(crate) fn run(self, command: &mut Command) -> &mut Command {
        if let Some((user, group)) = self.0 {
            command.uid(user).gid(group);
        }
        command
    }
}

const NOBODY: u32 = 65_534;

/// Creates `data` with the data of a fresh server, with the database `postgres` alone, owned by this user.
pub(crate) fn copy_to(data: &Path, binaries: &Binaries, user: ServerUser) -> io::Result<()> {
    let template = target_folder().join(format!("postgres-{}", binaries.version()));
    let lock = File::create(template.with_extension("lock"))?;
    lock.lock()?;
    if !template.exists() {
        // The other user may have no access to the target folder.
        let scratch = tempfile::Builder::new().prefix("postgres-").tempdir()?;
        user.own(scratch.path())?;
        let fresh = scratch.path().join("data");
        initdb(&fresh, binaries, user)?;
        keep_one_database(&fresh, binaries, user)?;
        let partial = template.with_extension("partial");
        let _ = fs::remove_dir_all(&partial);
        copy(&fresh, &partial, &|_| Ok(()))?;
        fs::rename(&partial, &template)?;
    }
    drop(lock);
    copy(&template, data, &|path| user.own(path))
}

/// Creates `data` anew, with its own system identifier.
pub(crate) fn initdb(data: &Path, binaries: &Binaries, user: ServerUser) -> io::Result<()> {
    let mut command = Command::new(binaries.initdb());
    command
        .args([
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        ])
        .arg("--pgdata")
        .arg(data);
    run(&mut command, Stdio::null(), user)
}

/// Two thirds of the files belong to databases that no test connects to. For each file that a test creates, ext4 looks at every
/// file of its group that was removed in the last seconds, so a start would cost several times as much.
fn keep_one_database(data: &Path, binaries: &Binaries, user: ServerUser) -> io::Result<()> {
    let (reader, mut writer) = io::pipe()?;
    writer.write_all(
        b"UPDATE pg_database SET datistemplate = false\nDROP DATABASE template0\nDROP DATABASE template1\n",
    )?;
    drop(writer);
    let mut single = Command::new(binaries.postgres());
    run(single.arg("--single").arg("-D").arg(data).arg("postgres"), reader.into(), user)
}

fn run(command: &mut Command, input: Stdio, user: ServerUser) -> io::Result<()> {
    let output = user.run(command).current_dir("/").stdin(input).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))))
}

fn copy(from: &Path, to: &Path, then: &impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    fs::create_dir(to)?;
    fs::set_permissions(to, Permissions::from_mode(0o700))?;
    then(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target, then)?;
        } else {
            fs::copy(entry.path(), &target)?;
            then(&target)?;
        }
    }
    Ok(())
}

/// The target folder of this build, so that cleaning the build removes the template too.
fn target_folder() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    let target = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    target.map_or_else(env::temp_dir, Path::to_owned)
}
