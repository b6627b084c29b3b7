use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The PostgreSQL binaries installed on the machine.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
    version: String,
}

impl Binaries {
    /// Finds the binaries on the `PATH`, or the newest version in Debian's folder.
    pub fn find() -> Option<Self> {
        let of_path = env::var_os("PATH").map(|path| env::split_paths(&path).collect::<Vec<_>>());
        let mut candidates = of_path.unwrap_or_default();
        let mut of_debian: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
            .collect();
        of_debian.sort();
        candidates.extend(of_debian.into_iter().rev().map(|(_, folder)| folder));
        candidates.into_iter().find_map(Self::in_folder)
    }

    /// The version, such as `15.18`.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn initdb(&self) -> PathBuf {
        self.folder.join("initdb")
    }

    pub(crate) fn postgres(&self) -> PathBuf {
        self.folder.join("postgres")
    }

    fn in_folder(folder: PathBuf) -> Option<Self> {
        let exists = |name: &str| folder.join(name).is_file();
        if !exists("initdb") || !exists("postgres") {
            return None;
        }
        let version = version_of(&folder.join("postgres"))?;
        Some(Self { folder, version })
    }
}

/// Parses `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn version_of(postgres: &Path) -> Option<String> {
    let output = Command::new(postgres).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let version = text.strip_prefix("postgres (PostgreSQL) ")?.split_whitespace().next()?;
    Some(version.to_owned())
}
