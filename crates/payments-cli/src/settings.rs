//! Where the service is, the key that opens it and how long to wait: each from its flag, else from the environment.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use payments_core::{ApiKey, Client, Endpoint};
use payments_hyper::{HyperTransport, TokioTimer};
use zeroize::Zeroizing;

use crate::args::ClientOptions;
use crate::failure::Failure;
use crate::key_source::KeySource;
use crate::path_name;
use crate::secret_file;

/// The settings of one call, resolved and checked.
pub(crate) struct Settings {
    endpoint: Endpoint,
    key_source: KeySource,
    timeout: Option<Duration>,
    /// PEM.
    extra_ca: Option<Vec<u8>>,
}

impl Settings {
    /// Reads the environment and the files that the settings name.
    pub(crate) fn resolve(options: &ClientOptions) -> Result<Self, Failure> {
        Self::from_sources(options, &|name| env::var_os(name))
    }

    /// The client that these settings describe. Nothing is sent yet.
    pub(crate) fn client(self) -> Result<Client, Failure> {
        let mut transport = HyperTransport::builder();
        if let Some(pem) = self.extra_ca {
            transport = transport.root_certificates_pem(&pem);
        }
        let transport = transport.build().map_err(|error| {
            Failure::invalid(
                "configuration",
                "HTTPS cannot be set up; nothing was sent: check the file of --ca-cert",
            )
            .because(&error)
        })?;
        let mut client = Client::builder(self.endpoint, transport, TokioTimer::new());
        if let Some(timeout) = self.timeout {
            client = client.total_timeout(timeout);
        }
        Ok(client.build())
    }

    /// What to name when the service refuses the key.
    pub(crate) fn key_source(&self) -> KeySource {
        self.key_source
    }

    /// Every problem is told at once.
    fn from_sources(options: &ClientOptions, environment: Environment<'_>) -> Result<Self, Failure> {
        let extra_ca = options.ca_cert.as_deref().map(certificate).transpose();
        match (base_url(options, environment), api_key(options, environment), extra_ca) {
            (Ok(base_url), Ok((key, key_source)), Ok(extra_ca)) => {
                let endpoint = Endpoint::new(&base_url, key)?;
                Ok(Self { endpoint, key_source, timeout: options.timeout, extra_ca })
            }
            (base_url, key, extra_ca) => {
                let problems = [base_url.err(), key.err(), extra_ca.err()].into_iter().flatten();
                Err(problems.reduce(Failure::and).expect("one of the three is a problem"))
            }
        }
    }
}

/// Looks a variable up.
type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

const BASE_URL: &str = "PAYMENTS_BASE_URL";
const API_KEY: &str = "PAYMENTS_API_KEY";
const API_KEY_FILE: &str = "PAYMENTS_API_KEY_FILE";

fn base_url(options: &ClientOptions, environment: Environment<'_>) -> Result<String, Failure> {
    let base_url = match &options.base_url {
        Some(url) => url.clone(),
        None => text_variable(BASE_URL, environment)?.ok_or_else(|| {
            Failure::invalid(
                "configuration",
                "no base address is set; nothing was sent: give --base-url or set PAYMENTS_BASE_URL",
            )
        })?,
    };
    // With any key, so that a wrong address and a missing key are told at once.
    Endpoint::new(&base_url, ApiKey::new("any")?)?;
    Ok(base_url)
}

/// The flag's file, else the key in the environment, else the file that the environment names.
fn api_key(options: &ClientOptions, environment: Environment<'_>) -> Result<(ApiKey, KeySource), Failure> {
    let (key, source) = if let Some(path) = &options.api_key_file {
        (key_file(path, KeySource::Flag)?, KeySource::Flag)
    } else if let Some(key) = text_variable(API_KEY, environment)? {
        (Zeroizing::new(key), KeySource::Variable)
    } else if let Some(path) = variable(API_KEY_FILE, environment) {
        (key_file(&PathBuf::from(path), KeySource::FileVariable)?, KeySource::FileVariable)
    } else {
        return Err(Failure::invalid(
            "configuration",
            "no API key is set; nothing was sent: \
             set PAYMENTS_API_KEY, or give --api-key-file or PAYMENTS_API_KEY_FILE",
        ));
    };
    match ApiKey::new(&key) {
        Ok(key) => Ok((key, source)),
        Err(error) => Err(Failure::from(error).hint(source.hint())),
    }
}

fn key_file(path: &Path, source: KeySource) -> Result<Zeroizing<String>, Failure> {
    let refused = |why: &str| {
        let name = path_name::of_key_in_brackets(path);
        Failure::invalid("configuration", format!("{source}{name} {why}; nothing was sent"))
    };
    let bytes = secret_file::read(path, LARGEST_KEY_FILE)
        .map_err(|error| refused("cannot be read").because(&error))?
        .ok_or_else(|| refused("is too large to hold a key"))?;
    let key = std::str::from_utf8(&bytes).map_err(|_| refused("is not text"))?;
    Ok(Zeroizing::new(without_final_newline(key).to_owned()))
}

/// One newline, which editors and `echo` add; a second one is no accident of theirs and makes the key invalid.
fn without_final_newline(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

fn certificate(path: &Path) -> Result<Vec<u8>, Failure> {
    let refused = |why: &str| {
        let name = path_name::in_brackets(path);
        Failure::invalid("configuration", format!("the file of --ca-cert{name} {why}; nothing was sent"))
    };
    let bytes = secret_file::read(path, LARGEST_CERTIFICATE_FILE)
        .map_err(|error| refused("cannot be read").because(&error))?
        .ok_or_else(|| refused("is larger than 1 MiB"))?;
    Ok(bytes.to_vec())
}

/// Larger than any key that is sent in a header, small enough for a wrong file to be refused at once.
const LARGEST_KEY_FILE: usize = 16 * 1024;

/// A whole system's bundle of authorities is about a quarter of this.
const LARGEST_CERTIFICATE_FILE: usize = 1024 * 1024;

/// A variable's value; an empty one counts as unset.
fn variable(name: &str, environment: Environment<'_>) -> Option<OsString> {
    environment(name).filter(|value| !value.is_empty())
}

fn text_variable(name: &str, environment: Environment<'_>) -> Result<Option<String>, Failure> {
    let Some(value) = variable(name, environment) else { return Ok(None) };
    value.into_string().map(Some).map_err(|_| {
        Failure::invalid(
            "configuration",
            format!("the environment variable {name} is not valid UTF-8; nothing was sent"),
        )
    })
}
