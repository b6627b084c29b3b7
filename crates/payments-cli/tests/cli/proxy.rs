//! The egress proxy: which one is used, what is sent to it, and how a command fails when it refuses.

use payments_sandbox::{BlockingSandbox, Sandbox};
use payments_tests::{ConnectProxy, UnresponsivePort};
use serde_json::json;

use crate::batch_runs::{Billing, ends};
use crate::cases::every_command;
use crate::support::{
    CARD_PAYMENT, CREATE, Ended, KEY, Peer, TemporaryFile, Then, payments, payments_at, responses,
};

/// `Aladdin:open sesame` in Base64.
const CREDENTIALS: &str = "QWxhZGRpbjpvcGVuIHNlc2FtZQ==";

fn with_credentials(address: impl std::fmt::Display) -> String {
    format!("http://Aladdin:open%20sesame@{address}")
}

#[track_caller]
fn assert_no_credentials(ended: &Ended) {
    for secret in ["Aladdin", "sesame", CREDENTIALS] {
        assert!(!ended.stdout.contains(secret) && !ended.stderr.contains(secret), "{secret}: {ended:?}");
    }
}

/// A sandbox with TLS, and a file with its certificate authority.
fn https_sandbox() -> (BlockingSandbox, TemporaryFile) {
    let sandbox = Sandbox::builder().api_key(KEY).tls().start_blocking().expect("a loopback port is free");
    let authority = TemporaryFile::new(sandbox.ca_certificate_pem().expect("it speaks TLS"));
    (sandbox, authority)
}

fn lookup() -> [&'static str; 3] {
    ["transaction", "get", "txn_1"]
}

#[test]
fn charge_through_the_proxy_is_encrypted_end_to_end() {
    let (sandbox, authority) = https_sandbox();
    let proxy = ConnectProxy::tunnelling();
    let charge = ["transaction", "create", "--file", "-", "--verbose", "--ca-cert", authority.path()];
    let run = || {
        let run = payments_at(sandbox.base_url(), charge).stdin(CARD_PAYMENT);
        run.env("PAYMENTS_PROXY", &with_credentials(proxy.address()))
    };
    let ended = run().end().exits(0);
    let line = format!("payments: proxy {} (PAYMENTS_PROXY)\n", proxy.address());
    assert!(ended.stderr.contains(&line), "{}", ended.stderr);
    assert_no_credentials(&ended);

    let target = sandbox.base_url().split('/').nth(2).expect("an authority");
    let head = format!(
        "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nProxy-Authorization: Basic {CREDENTIALS}\r\n\r\n"
    );
    assert_eq!(proxy.heads(), [head]);
    let passed = proxy.after_heads();
    assert_eq!(passed[..2], [22, 3], "a TLS handshake");
    assert!(!passed.windows(KEY.len()).any(|part| part == KEY.as_bytes()));
    assert_eq!(sandbox.gateway().ledger().entries().len(), 1);

    let dry_run = run().arguments(["--dry-run"]).end();
    assert_eq!(dry_run.json()["outcome"], "dry_run");
    assert_no_credentials(&dry_run);
    assert_eq!(proxy.heads().len(), 1, "the dry run contacted the proxy");
}

#[test]
fn every_command_uses_the_proxy() {
    let (sandbox, authority) = https_sandbox();
    let proxy = ConnectProxy::tunnelling();
    let address = with_credentials(proxy.address());
    let options = ["--ca-cert", authority.path(), "--proxy", &address];
    let mut tunnels = 0;
    for case in every_command() {
        let ended = case.run(sandbox.base_url(), &options);
        assert!(matches!(ended.code, Some(0 | 4 | 7)), "no response: {ended:?}");
        tunnels += 1;
        assert_eq!((proxy.heads().len(), sandbox.gateway().requests().len()), (tunnels, tunnels));
    }

    let checked = payments_at(sandbox.base_url(), ["check"]).arguments(options).end().exits(0);
    let shown = json!({"value": proxy.address().to_string(), "from": "--proxy"});
    assert_eq!(checked.json()["data"]["settings"]["proxy"], shown);
    assert_no_credentials(&checked);
    assert_eq!(proxy.heads().len(), tunnels + 1);
}

/// Without TLS, which is allowed if the service and the proxy are on this machine.
#[cfg(unix)]
#[test]
fn billing_run_and_resolution_use_the_proxy() {
    let billing = Billing::open();
    let proxy = ConnectProxy::tunnelling();
    let address = with_credentials(proxy.address());
    billing.good(2);
    let ended = billing.run(&["--proxy", &address]);
    ends(&ended, 0, "processed", None);
    assert_no_credentials(&ended);
    let tunnels = proxy.heads().len();
    assert!(tunnels > 0 && billing.workspace.requests() == 2);

    billing.workspace.lose_response("lost");
    let id = billing.workspace.last_id();
    let resolve = ["journal", "resolve", "lost", "--processed", &id, "--by", "Grace", "--proxy", &address];
    let resolved = billing.workspace.run(resolve).end().exits(0);
    assert_no_credentials(&resolved);
    assert_eq!(proxy.heads().len(), tunnels + 1);
}

#[test]
fn refusing_proxy_is_not_processed_d02_d56() {
    const PAGE: &str = "<html>your account txn_proxy was blocked";
    let (sandbox, authority) = https_sandbox();
    let page = |status: &str| {
        let length = PAGE.len();
        format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n{PAGE}")
    };
    let refusing = ["407 Proxy Authentication Required", "403 Forbidden", "502 Bad Gateway", "201 Created"]
        .map(|status| (ConnectProxy::responding(page(status)), Some(&status[..3])));
    let (silent, nobody) = (ConnectProxy::silent(), UnresponsivePort::refusing());
    let refused = refusing.iter().map(|(proxy, status)| (proxy.address(), "connect", *status));
    let unreachable = [(silent.address(), "timeout", None), (nobody.address(), "connect", None)];
    for (address, kind, status) in refused.chain(unreachable) {
        let run = |command: &[&str]| {
            let run = payments_at(sandbox.base_url(), command.iter()).stdin(CARD_PAYMENT);
            let run = run.arguments(["--ca-cert", authority.path(), "--timeout", "2", "--verbose"]);
            run.env("PAYMENTS_PROXY", &with_credentials(address)).end()
        };
        let charged = run(&CREATE);
        let error = charged.failed(3);
        assert_eq!((&error["kind"], &error["http_status"]), (&json!(kind), &json!(null)), "{error}");
        let in_text = run(&[&CREATE[..], &["--output", "text"]].concat());
        let hint = format!("the connection goes through the proxy {address}, which came from PAYMENTS_PROXY");
        assert!(in_text.stderr.contains(&hint), "{}", in_text.stderr);
        assert!(!in_text.stderr.contains("is the service running there?"), "{}", in_text.stderr);
        let is_permanent = matches!(status, Some("403" | "407"));
        for text in [&*in_text.stderr, error["message"].as_str().expect("a text")] {
            assert_eq!(text.contains("it will fail again until the cause is fixed"), is_permanent, "{text}");
        }
        let checked = run(&["check"]);
        checked.failed(3);
        let step = checked.json()["data"]["steps"][1].clone();
        let message = step["message"].as_str().expect("a text");
        assert!(step["state"] == "failed" && message.contains(&hint), "{message}");
        if let Some(status) = status {
            let refusal = format!("the proxy returned {status}");
            assert!(message.contains(&refusal), "{message}");
            let cause = charged.failed(3)["cause"].clone();
            assert!(cause.as_str().is_some_and(|cause| cause.ends_with(&refusal)), "{cause}");
        }
        for ended in [charged, in_text, checked] {
            assert_eq!(ended.code, Some(3), "{ended:?}");
            assert_no_credentials(&ended);
            assert!(
                !format!("{ended:?}").contains("txn_proxy"),
                "the proxy's page is not a response: {ended:?}"
            );
        }
    }
    assert_eq!(sandbox.gateway().requests().len(), 0);
}

#[test]
fn run_stops_at_once_if_the_proxy_refuses_the_address_or_the_credentials_d56() {
    for (status, is_permanent) in [("403 Forbidden", true), ("407 No", true), ("503 Unavailable", false)] {
        let proxy = ConnectProxy::responding(format!("HTTP/1.1 {status}\r\n\r\n"));
        let billing = Billing::open();
        billing.good(20);
        let run = |options: &[&str]| {
            let run = billing.command(&[&["--concurrency", "1"][..], options].concat());
            run.env("PAYMENTS_PROXY", &with_credentials(proxy.address())).end()
        };
        let ended = run(if is_permanent { &[] } else { &["--patience", "0"] });
        ends(&ended, 3, "unfinished", Some("outage"));
        assert_eq!(proxy.heads().len(), 1);
        let message = ended.json()["stopped"]["message"].as_str().expect("a text").to_owned();
        for part in [&*format!("the proxy returned {}", &status[..3]), "does it allow"] {
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(message.contains("waiting does not help"), is_permanent, "{message}");
        let text = run(&["--patience", "0", "--output", "text"]);
        assert_eq!(
            text.stdout.contains("it is safe to run the same command again"),
            !is_permanent,
            "{text:?}"
        );
        assert_no_credentials(&ended);
    }
}

#[test]
fn ignored_proxy_variable_is_named_when_the_connection_fails() {
    let nobody = UnresponsivePort::refusing();
    let base_url = format!("https://{}", nobody.address());
    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        let hint = format!("{variable} is set, but this command ignores it");
        let run = |command: &[&str]| {
            let run = payments_at(&base_url, command.iter()).stdin(CARD_PAYMENT);
            run.arguments(["--output", "text"]).env(variable, &with_credentials("proxy.example:3128")).end()
        };
        for ended in [run(&["check"]), run(&CREATE)] {
            let text = format!("{}{}", ended.stdout, ended.stderr);
            assert!(text.contains(&hint), "{text}");
            assert_no_credentials(&ended);
        }
        let used = payments_at(&base_url, ["check"]).env(variable, "http://proxy.example:3128");
        let used = used.env("PAYMENTS_PROXY", &format!("http://{}", nobody.address())).end();
        assert!(!format!("{used:?}").contains("ignores it"), "{used:?}");
    }
    let peer = Peer::responding("404 Not Found", responses::NOT_FOUND);
    let passed = payments_at(&peer.base_url, ["check"]).env("HTTPS_PROXY", "http://proxy.example:3128").end();
    assert!(!format!("{passed:?}").contains("ignores it"), "{passed:?}");
}

#[test]
fn invalid_proxy_address_is_refused_and_not_shown_d25() {
    for (address, mistake) in [
        ("https://u:canary@localhost:1", "does not begin with http://"),
        ("socks5://u:canary@localhost:1", "does not begin with http://"),
        ("http://u:canary@localhost:1/path", "has a path"),
        ("http://u:canary@localhost:99999", "no usable host and port"),
        ("http://u:can ary@localhost", "is not a URI"),
    ] {
        let charge = || {
            payments_at("https://localhost:1", ["transaction", "create", "--file", "-", "--verbose"])
                .stdin(CARD_PAYMENT)
        };
        for (run, from) in [
            (charge().arguments(["--proxy", address]), "--proxy"),
            (charge().env("PAYMENTS_PROXY", address), "PAYMENTS_PROXY"),
        ] {
            let ended = run.end();
            let error = ended.failed(2);
            let message = error["message"].as_str().expect("a text");
            assert_eq!(error["kind"], "configuration");
            assert!(message.starts_with(from) && message.contains(mistake), "{message}");
            assert!(message.contains("; nothing was sent"), "{message}");
            assert!(!format!("{ended:?}").contains("ary@"), "{ended:?}");
        }
    }
    // An empty variable counts as unset; an empty option is refused.
    payments_at("https://localhost:1", lookup()).arguments(["--proxy", ""]).end().failed(2);
    let run = payments_at("https://localhost:1", lookup()).env("PAYMENTS_PROXY", "");
    run.end().failed(3);
}

#[test]
fn plain_http_through_a_remote_proxy_is_refused_d24() {
    let peer = Peer::new(Then::Close);
    for command in [&lookup()[..], &["transaction", "get", "txn_1", "--dry-run"], &["check"]] {
        let run = payments_at(&peer.base_url, command.iter());
        let ended = run.env("PAYMENTS_PROXY", &with_credentials("192.0.2.1:3128")).end();
        let error = ended.failed(2);
        assert_eq!(error["kind"], "configuration");
        let message = error["message"].as_str().expect("a text");
        assert!(message.contains("a plain http base URL cannot be used with a proxy"), "{message}");
        assert_no_credentials(&ended);
    }
    assert_eq!(peer.connections(), 0);
}

#[test]
fn proxy_option_overrides_variable_and_no_other_variable_is_read() {
    let peer = Peer::responding("200 OK", responses::TRANSACTION_FOUND);
    let [flag, variable, other] = [(); 3].map(|()| ConnectProxy::tunnelling());
    let run = || {
        let mut run = payments_at(&peer.base_url, lookup());
        for name in ["http_proxy", "https_proxy", "all_proxy"] {
            let address = format!("http://{}", other.address());
            run = run.env(name, &address).env(&name.to_ascii_uppercase(), &address);
        }
        run
    };
    let url = |proxy: &ConnectProxy| format!("http://{}", proxy.address());

    run().env("PAYMENTS_PROXY", &url(&variable)).arguments(["--proxy", &url(&flag)]).end().processed();
    // NO_PROXY does not apply to this setting either.
    let address = with_credentials(variable.address());
    run().env("PAYMENTS_PROXY", &address).env("NO_PROXY", "*").env("no_proxy", "*").end().processed();
    run().end().processed();
    assert_eq!([&flag, &variable, &other].map(|proxy| proxy.heads().len()), [1, 1, 0]);
    assert!(variable.heads()[0].contains(CREDENTIALS));
}

#[test]
fn proxy_password_on_the_command_line_is_warned_about() {
    const WARNING: &str = "every user of this machine can read the arguments of its processes, and --proxy contains a \
                           password: set PAYMENTS_PROXY instead";
    let peer = Peer::responding("200 OK", responses::TRANSACTION_FOUND);
    let proxy = ConnectProxy::tunnelling();
    let (secret, plain) = (with_credentials(proxy.address()), format!("http://{}", proxy.address()));
    let (user, empty) = (secret.replace(":open%20sesame", ""), secret.replace("open%20sesame", ""));
    for (address, is_option, shape, is_warned) in [
        (&user, true, "text", false),
        (&empty, true, "text", false),
        (&secret, true, "text", true),
        (&secret, true, "json", false),
        (&secret, false, "text", false),
        (&plain, true, "text", false),
    ] {
        let run = payments_at(&peer.base_url, lookup()).arguments(["--output", shape]);
        let run =
            if is_option { run.arguments(["--proxy", address]) } else { run.env("PAYMENTS_PROXY", address) };
        let ended = run.end().exits(0);
        assert_eq!(ended.stderr.contains(WARNING), is_warned, "{ended:?}");
        assert_no_credentials(&ended);
    }
    let check = payments_at(&peer.base_url, ["check", "--proxy", &secret, "--output", "text"]).end();
    assert!(format!("{check:?}").contains(WARNING), "{check:?}");
    let journal = tempfile::tempdir().expect("a temporary folder").path().join("journal.db");
    let journal = journal.to_str().expect("a plain path");
    let resolve = ["journal", "--journal", journal, "resolve", "k", "--not-processed", "--note", "n"];
    for ended in [
        payments(lookup())
            .env("PAYMENTS_API_KEY", "")
            .arguments(["--proxy", &secret, "--output", "text"])
            .end(),
        payments(["check"]).arguments(["--proxy", &secret, "--output", "text"]).end(),
        payments_at(&peer.base_url, lookup())
            .arguments(["--proxy", &format!("{secret}x"), "--output", "text"])
            .end(),
        payments_at(&peer.base_url, resolve).arguments(["--proxy", &secret, "--output", "text"]).end(),
    ] {
        assert_ne!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.stderr.matches(WARNING).count(), 1, "{ended:?}");
        assert_no_credentials(&ended);
    }
}
