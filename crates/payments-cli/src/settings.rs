//! Base URL, API key, merchant, deadline, certificate authority and proxy: each from its option, else from the environment.

mod api_key;
mod journal_address;
mod journal_place;
mod printed_commands;
mod proxy;
mod source;

use std::time::Duration;

use payments_core::{ApiKey, Client, ClientBuilder, Deadlines, Endpoint};
use payments_hyper::{HyperTransport, TokioTimer};
use serde_json::{Value, json};

use self::api_key::Key;
pub(crate) use self::api_key::{KnownKeys, ReadKeys, key_hint};
pub(crate) use self::journal_place::{JournalPlace, MOST_PAGES, OpenFor, warn_of_a_loss};
pub(crate) use self::printed_commands::{PrintedCommands, by_option, login_name, shell_word};
use self::proxy::Proxy;
pub(crate) use self::proxy::warning_of_proxy;
use self::source::{
    API_KEY, API_KEY_FILE, BASE_URL, CA_CERT, MERCHANT, TIMEOUT, chosen, chosen_text, text_variable,
};
pub(crate) use self::source::{JOURNAL, Source};
use crate::args::{self, ClientOptions};
use crate::failure::Failure;
use crate::files::{self, FIX_THE_FILE};
use crate::service::Service;

/// The validated settings of a call. They hold secrets, so none of these types has `Debug`.
pub(crate) struct Settings {
    /// With the base URL, and the service that a key belongs to which is sent with these settings.
    pub(crate) endpoint: Endpoint,
    pub(crate) keys: KnownKeys,
    /// The base URL with the key masked, in case the user put it there.
    pub(crate) shown_base_url: String,
    pub(crate) base_url_source: Source,
    pub(crate) key_source: Source,
    /// The label that the user chose, with card numbers masked.
    pub(crate) merchant: Option<(String, Source)>,
    /// The deadline of the whole call.
    pub(crate) timeout: Duration,
    pub(crate) timeout_source: Source,
    extra_ca: Option<Authority>,
    proxy: Option<Proxy>,
    /// To show before money moves: others can read the key's file.
    pub(crate) warning: Option<String>,
    is_key_ambiguous: bool,
}

/// An additional certificate authority to trust.
struct Authority {
    pem: Vec<u8>,
    /// The file, if it may be shown.
    name: Option<String>,
    source: Source,
}

impl Settings {
    /// Reads the environment and the files that the settings name. Reports all problems together. The keys are read before, for a
    /// command that may need nothing else.
    pub(crate) fn with_keys(options: &ClientOptions, keys: ReadKeys) -> Result<Self, Failure> {
        let ReadKeys { chosen, known: keys } = keys;
        let key = chosen.and_then(Key::checked);
        // Without a key a placeholder, so that a wrong address and a missing key are reported together.
        let api_key = key.as_ref().map_or_else(|_| ApiKey::new("any"), |(key, _)| Ok(key.clone()))?;
        let mut problems = Vec::new();
        let (
            Some((endpoint, base_url_source)),
            Some((api_key, Key { source: key_source, warning, is_ambiguous: is_key_ambiguous, .. })),
            Some(merchant),
            Some((timeout, timeout_source)),
            Some(extra_ca),
            Some(mut proxy),
        ) = (
            or_problem(endpoint(options, api_key), &mut problems),
            or_problem(key, &mut problems),
            or_problem(merchant(options), &mut problems),
            or_problem(timeout(options), &mut problems),
            or_problem(authority(options), &mut problems),
            or_problem(Proxy::chosen(options), &mut problems),
        )
        else {
            return Err(problems.into_iter().reduce(Failure::and).expect("what is missing is a problem"));
        };
        if let Some(proxy) = &mut proxy {
            proxy.check(endpoint.base_url())?;
            proxy.host_and_port = keys.mask(&proxy.host_and_port);
        }
        if let Some((label, source)) = &merchant
            && keys.is_in(label)
        {
            let message = "the label of a merchant contains an API key; nothing was sent";
            return Err(Failure::configuration(message).hint(format!("the label came from {source}")));
        }
        let endpoint = match &merchant {
            Some((label, _)) => endpoint.for_merchant(label, api_key)?,
            None => endpoint,
        };
        Ok(Self {
            warning,
            is_key_ambiguous,
            shown_base_url: keys.mask(endpoint.base_url()),
            endpoint,
            base_url_source,
            key_source,
            merchant: merchant.map(|(label, source)| (keys.mask(&label), source)),
            keys,
            timeout,
            timeout_source,
            extra_ca,
            proxy,
        })
    }

    /// Refuses two keys, of which one may be another merchant's. Whatever moves money or decides about it calls this first.
    pub(crate) fn require_one_key(&self) -> Result<(), Failure> {
        if !self.is_key_ambiguous {
            return Ok(());
        }
        Err(Failure::configuration(format!(
            "{API_KEY} and {API_KEY_FILE} are both set and have two keys, and one may be another merchant's; nothing was sent: \
             unset one of them, or give --api-key-file"
        )))
    }

    /// A client with these settings over a real network. Nothing is sent yet.
    pub(crate) fn client(&self) -> Result<ClientBuilder<HyperTransport, TokioTimer>, Failure> {
        let mut transport = HyperTransport::builder();
        if let Some(authority) = &self.extra_ca {
            transport = transport.root_certificates_pem(&authority.pem);
        }
        if let Some(proxy) = &self.proxy {
            transport = transport.proxy(&*proxy.address);
        }
        let transport = transport.build().map_err(|error| {
            let source =
                self.extra_ca.as_ref().map_or(Source::Flag("--ca-cert"), |authority| authority.source);
            let what = format!("HTTPS cannot be set up; nothing was sent: check the file of {source}");
            Failure::configuration(what).with_cause(&error)
        })?;
        let client = Client::builder(self.endpoint.clone(), transport, TokioTimer::new());
        Ok(client.total_timeout(self.timeout))
    }

    /// A reference without masking, even if it looks like a card number: a masked one reconciles nothing.
    pub(crate) fn reference_without_key(&self, text: &str) -> String {
        if self.keys.is_in(text) { self.keys.mask(text) } else { text.to_owned() }
    }

    /// The hint for a 404 that is not about the id.
    pub(crate) fn path_hint(&self) -> String {
        format!(
            "check the base URL ({}), which must end in the service's path prefix, such as /api/v1/public",
            self.base_url_source
        )
    }

    /// The variable that names a proxy for other programs, if this command uses none.
    pub(crate) fn ignored_proxy_variable(&self) -> Option<&'static str> {
        let variables = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if self.proxy.is_some() { None } else { variables.into_iter().find(is_set) }
    }

    /// Host and port of the egress proxy, and its source.
    pub(crate) fn proxy(&self) -> Option<(&str, Source)> {
        self.proxy.as_ref().map(|proxy| (&*proxy.host_and_port, proxy.source))
    }

    /// A line for each setting with its source.
    pub(crate) fn described(&self) -> Vec<String> {
        let set = self.shown().into_iter().filter_map(|(_, name, set)| Some((name, set?)));
        set.map(|(name, (shown, source))| match shown {
            Shown::Text(text) => format!("{name} {text} ({source})"),
            Shown::Deadline(deadline) => format!("{name} {deadline:?} ({source})"),
            Shown::Hidden(place) => format!("{name}{place} ({source})"),
        })
        .collect()
    }

    /// The settings in a document, each with its source.
    pub(crate) fn document(&self) -> Value {
        let object = |(shown, source): Set<'_>| match shown {
            Shown::Text(text) => json!({"value": text, "from": source.to_string()}),
            Shown::Deadline(deadline) => json!({"value": deadline.as_secs_f64(), "from": source.to_string()}),
            Shown::Hidden(_) => json!({"from": source.to_string()}),
        };
        self.shown().map(|(member, _, set)| (member, set.map(object))).into_iter().collect()
    }

    /// Each setting with its member of a document, its name for people, and its value if it is set.
    fn shown(&self) -> [(&'static str, &'static str, Option<Set<'_>>); 6] {
        let authority = self.extra_ca.as_ref().map(|Authority { name, source, .. }| {
            (name.as_deref().map_or(Shown::Hidden(" in a file"), Shown::Text), *source)
        });
        [
            ("base_url", "base URL", Some((Shown::Text(&self.shown_base_url), self.base_url_source))),
            ("api_key", "API key", Some((Shown::Hidden(""), self.key_source))),
            ("merchant", "merchant", self.merchant.as_ref().map(|(it, source)| (Shown::Text(it), *source))),
            ("timeout", "deadline", Some((Shown::Deadline(self.timeout), self.timeout_source))),
            ("ca_cert", "authority", authority),
            ("proxy", "proxy", self.proxy().map(|(at, source)| (Shown::Text(at), source))),
        ]
    }
}

/// A setting and where it came from.
type Set<'a> = (Shown<'a>, Source);

/// A setting as everybody may see it.
enum Shown<'a> {
    Text(&'a str),
    Deadline(Duration),
    /// With the text that people get instead.
    Hidden(&'static str),
}

fn or_problem<T>(read: Result<T, Failure>, problems: &mut Vec<Failure>) -> Option<T> {
    read.map_err(|problem| problems.push(problem)).ok()
}

fn endpoint(options: &ClientOptions, api_key: ApiKey) -> Result<(Endpoint, Source), Failure> {
    let (base_url, source) =
        chosen_text(options.base_url.as_ref(), "--base-url", BASE_URL)?.ok_or_else(|| {
            Failure::configuration(
                "no base URL is set; nothing was sent: give --base-url or set PAYMENTS_BASE_URL",
            )
        })?;
    let hinted = |error| Failure::from(error).hint(format!("the base URL came from {source}"));
    Ok((Endpoint::new(&base_url, api_key).map_err(hinted)?, source))
}

/// The name of the service that calls with these options go to; `None` if nothing names one.
fn called_service(options: &ClientOptions, keys: &KnownKeys) -> Result<Option<String>, Failure> {
    let merchant = merchant(options)?;
    if merchant.is_none() && chosen_text(options.base_url.as_ref(), "--base-url", BASE_URL)?.is_none() {
        return Ok(None);
    }
    let (endpoint, _) = endpoint(options, ApiKey::new("any")?)?;
    let endpoint = match merchant {
        Some((label, _)) => endpoint.for_merchant(&label, ApiKey::new("any")?)?,
        None => endpoint,
    };
    Ok(Some(keys.mask(endpoint.service())))
}

/// The same if the options or the merchant's label name it: the base URL in a variable alone may be there for other commands.
pub(crate) fn named_service(options: &ClientOptions) -> Result<Option<String>, Failure> {
    let called = called_service(options, &KnownKeys::in_environment())?;
    Ok(called.filter(|called| options.base_url.is_some() || Service::of(called).merchant.is_some()))
}

/// The label of one of several merchants at the service.
fn merchant(options: &ClientOptions) -> Result<Option<(String, Source)>, Failure> {
    let Some((label, source)) = chosen_text(options.merchant.as_ref(), "--merchant", MERCHANT)? else {
        return Ok(None);
    };
    // With a placeholder address and key, so that a wrong label is reported together with them.
    let key = ApiKey::new("any")?;
    let hinted = |error| Failure::from(error).hint(format!("the label came from {source}"));
    Endpoint::new("https://localhost", key.clone())?.for_merchant(&label, key).map_err(hinted)?;
    Ok(Some((label, source)))
}

fn timeout(options: &ClientOptions) -> Result<(Duration, Source), Failure> {
    if let Some(timeout) = options.timeout {
        return Ok((timeout, Source::Flag("--timeout")));
    }
    let Some(text) = text_variable(TIMEOUT)? else { return Ok((Deadlines::DEFAULT_TOTAL, Source::Default)) };
    let timeout = args::timeout(&text);
    let timeout =
        timeout.map_err(|rule| Failure::configuration(format!("{TIMEOUT} {rule}; nothing was sent")))?;
    Ok((timeout, Source::Variable(TIMEOUT)))
}

fn authority(options: &ClientOptions) -> Result<Option<Authority>, Failure> {
    let Some((path, source)) = chosen(options.ca_cert.clone(), "--ca-cert", CA_CERT) else { return Ok(None) };
    let refused = |why: &str| {
        // A variable may hold the key instead of the path, by mistake.
        let name = match source {
            Source::Variable(_) => files::key_name_in_brackets(&path),
            _ => files::name_in_brackets(&path),
        };
        Failure::configuration(format!("the file of {source}{name} {why}; nothing was sent: {FIX_THE_FILE}"))
    };
    let bytes = files::read(&path, LARGEST_CERTIFICATE_FILE)
        .map_err(|error| refused("cannot be read").with_cause(&error))?
        .ok_or_else(|| refused("is larger than 1 MiB"))?;
    Ok(Some(Authority { pem: bytes.to_vec(), name: files::shown_name(&path), source }))
}

/// About four times the size of a system's bundle of authorities.
const LARGEST_CERTIFICATE_FILE: usize = 1024 * 1024;
