//! What a step needs that a machine may not have.

use xshell::Shell;

/// A program, and a call of it that succeeds where it will do.
#[derive(Debug)]
pub(super) struct Need {
    pub(super) program: &'static str,
    arguments: &'static [&'static str],
    /// The reason that a skipped step gives.
    pub(super) otherwise: &'static str,
}

pub(super) const PYTHON: Need =
    Need { program: "python3", arguments: &["--version"], otherwise: "python3 is not installed" };

pub(super) const PYTHON_3_11: Need = Need {
    program: "python3",
    arguments: &["-c", "import sys; sys.exit(sys.version_info < (3, 11))"],
    otherwise: "python3 is older than 3.11, which schemathesis needs",
};

pub(super) const PYTHON_VENV: Need = Need {
    program: "python3",
    arguments: &["-c", "import venv, ensurepip"],
    otherwise: "python3 cannot make virtual environments (Debian's package for that is python3-venv)",
};

pub(super) const NODE: Need = Need {
    program: "node",
    arguments: &["--eval", "require('node:test'); fetch"],
    otherwise: "node is not installed, or older than 18",
};

pub(super) const CURL: Need =
    Need { program: "curl", arguments: &["--version"], otherwise: "curl is not installed" };

pub(super) const BASH: Need =
    Need { program: "bash", arguments: &["--version"], otherwise: "bash is not installed" };

/// No step as a whole needs it.
pub(super) const SSH_KEYGEN: Need = Need {
    program: "sh",
    arguments: &["-c", "command -v ssh-keygen"],
    otherwise: "ssh-keygen is not installed, so no release is tried",
};

/// Rustdoc writes JSON to its standard output where it can; the formats are those that `xtask/release/src/rustdoc.rs` reads.
pub(super) const RUSTDOC_JSON: Need = Need {
    program: "sh",
    arguments: &[
        "-c",
        "echo | RUSTC_BOOTSTRAP=1 rustdoc - --crate-name probe -o - -Z unstable-options --output-format json \
         | grep --quiet --extended-regexp '\"format_version\":5[789][,}]'",
    ],
    otherwise: "rustdoc's JSON is in none of the formats 57 to 59, which Rust 1.95 for one has",
};

impl Need {
    pub(super) fn is_met(&self, shell: &Shell) -> bool {
        let probe = shell.cmd(self.program).args(self.arguments);
        probe.quiet().ignore_stdout().ignore_stderr().run().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::shell;

    #[test]
    fn a_need_is_met_where_its_call_succeeds() {
        let met = |program, arguments| Need { program, arguments, otherwise: "" }.is_met(&shell().unwrap());
        assert!(met("cargo", &["--version"]));
        assert!(!met("cargo", &["there-is-no-such-command"]));
        assert!(!met("there-is-no-such-program", &[]));
    }
}
