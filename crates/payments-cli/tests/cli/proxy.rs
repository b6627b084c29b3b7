//! The egress proxy: which one is used, what is sent to it, and how a command fails when it refuses.

use payments_tests::{ConnectProxy, UnresponsivePort};

use crate::prelude::*;
use crate::tls::https_sandbox;

/// `Aladdin:open sesame` in Base64.
const CREDENTIALS: &str = "QWxhZGRpbjpvcGVuIHNlc2FtZQ==";

fn with_credentials(address: impl std::fmt::Display) -> String {
    format!("http://Aladdin:open%20sesame@{address}")
}

#[track_caller]
fn assert_no_credentials(ended: &Ended) {
    ended.hides(["Aladdin", "sesame", CREDENTIALS]);
}

#[test]
fn charge_through_the_proxy_is_encrypted_end_to_end() {
    let (sandbox, authority) = https_sandbox("127.0.0.1");
    let proxy = ConnectProxy::tunnelling();
    let run = || {
        let run = payments_at(sandbox.base_url(), CREATE).with(["--verbose", "--ca-cert", authority.path()]);
        run.stdin(CARD_PAYMENT).env("PAYMENTS_PROXY", &with_credentials(proxy.address()))
    };
    let ended = run().end().exits(0);
    has(&ended.stderr, [format!("payments: proxy {} (PAYMENTS_PROXY)\n", proxy.address())]);
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

    let dry_run = run().with("--dry-run").end();
    assert_eq!(dry_run.json()["outcome"], "dry_run");
    assert_no_credentials(&dry_run);
    assert_eq!(proxy.heads().len(), 1, "the dry run contacted the proxy");
}

#[test]
fn every_command_uses_the_proxy() {
    let (sandbox, authority) = https_sandbox("127.0.0.1");
    let proxy = ConnectProxy::tunnelling();
    let address = with_credentials(proxy.address());
    let options = format!("--ca-cert {} --proxy {address}", authority.path());
    for (case, tunnels) in every_command().iter().zip(1..) {
        let ended = case.run(sandbox.base_url(), &options);
        assert!(matches!(ended.code, Some(0 | 4 | 7)), "no response: {ended:?}");
        assert_eq!((proxy.heads().len(), sandbox.gateway().requests().len()), (tunnels, tunnels));
    }
    let tunnels = proxy.heads().len();
    let checked = payments_at(sandbox.base_url(), "check").with(&options).end().exits(0);
    let shown = json!({"value": proxy.address().to_string(), "from": "--proxy"});
    assert_eq!(checked.json()["data"]["settings"]["proxy"], shown);
    assert_no_credentials(&checked);
    assert_eq!(proxy.heads().len(), tunnels + 1);

    // Without TLS, which is allowed if the service and the proxy are on this machine.
    let workspace = Workspace::with_rows(2);
    let id = workspace.lose_response("lost");
    let option = format!("--proxy {address}");
    let run = workspace.bills(&option).exits(0);
    let tunnels = proxy.heads().len();
    assert!(tunnels > sandbox.gateway().requests().len() && workspace.requests() == 3, "{run:?}");
    let resolved = workspace.journals(format!("resolve lost --processed {id} {option}")).exits(0);
    assert_eq!(proxy.heads().len(), tunnels + 1);
    for ended in [run, resolved] {
        assert_no_credentials(&ended);
    }
}

#[test]
fn refusing_proxy_is_not_processed_d02_d56() {
    const PAGE: &str = "<html>your account txn_proxy was blocked";
    let (sandbox, authority) = https_sandbox("127.0.0.1");
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
        let run = |line: &str| {
            let run = payments_at(sandbox.base_url(), line).stdin(CARD_PAYMENT);
            let run = run.with(["--ca-cert", authority.path(), "--timeout", "2", "--verbose"]);
            run.env("PAYMENTS_PROXY", &with_credentials(address))
        };
        let (charged, in_text, checked) = (run(CREATE).end(), run(CREATE).text(), run("check").end());
        let error = charged.failed_as(3, kind);
        assert!(error["http_status"].is_null(), "{error}");
        let hint = format!("the connection goes through the proxy {address}, which came from PAYMENTS_PROXY");
        has(&in_text.stderr, [&*format!("{hint}\n")]);
        in_text.hides(["is the service running there?"]);
        let is_permanent = matches!(status, Some("403" | "407"));
        for text in [&in_text.stderr, message(&error)] {
            assert_eq!(text.contains("it will fail again until the cause is fixed"), is_permanent, "{text}");
        }
        let (refused, unreachable) = ("the proxy refused: check its credentials", "is it running there");
        let hints = [refused, unreachable].map(|part| in_text.stderr.contains(part));
        assert_eq!(hints, [is_permanent, !is_permanent && kind == "connect"], "{in_text:?}");
        checked.failed(3);
        let step = checked.json()["data"]["steps"][1].clone();
        assert_eq!(step["state"], "failed", "{step}");
        has(message(&step), [&hint]);
        if let Some(status) = status {
            let refusal = format!("the proxy returned {status}");
            has(message(&step), [&refusal]);
            assert!(error["cause"].as_str().is_some_and(|cause| cause.ends_with(&refusal)), "{error}");
        }
        for ended in [charged, in_text, checked] {
            assert_eq!(ended.code, Some(3), "{ended:?}");
            assert_no_credentials(&ended);
            // The proxy's page is not a response.
            ended.hides(["txn_proxy"]);
        }
    }
    assert_eq!(sandbox.gateway().requests().len(), 0);
}

#[test]
fn ignored_proxy_variable_is_named_when_the_connection_fails() {
    let nobody = UnresponsivePort::refusing();
    let base_url = format!("https://{}", nobody.address());
    let others = "http://proxy.example:3128";
    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        for line in ["check", CREATE] {
            let run = payments_at(&base_url, line).stdin(CARD_PAYMENT);
            let ended = run.env(variable, &with_credentials("proxy.example:3128")).text();
            has(ended.shown(), [format!("{variable} is set, but this command ignores it")]);
            assert_no_credentials(&ended);
        }
    }
    let used = payments_at(&base_url, "check").env("HTTPS_PROXY", others);
    let used = used.env("PAYMENTS_PROXY", &format!("http://{}", nobody.address())).end();
    let peer = Peer::responding("404 Not Found", responses::NOT_FOUND);
    let passed = payments_at(&peer.base_url, "check").env("HTTPS_PROXY", others).end();
    for ended in [used, passed] {
        ended.hides(["ignores it"]);
    }
}

#[test]
fn invalid_proxy_address_is_refused_and_not_shown_d24_d25() {
    for (address, mistake) in [
        ("https://u:canary@localhost:1", "does not begin with http://"),
        ("socks5://u:canary@localhost:1", "does not begin with http://"),
        ("http://u:canary@localhost:1/path", "has a path"),
        ("http://u:canary@localhost:99999", "no usable host and port"),
        ("http://u:can ary@localhost", "is not a URI"),
    ] {
        let charge = || payments_at("https://localhost:1", CREATE).with("--verbose").stdin(CARD_PAYMENT);
        for (run, from) in [
            (charge().with(["--proxy", address]), "--proxy"),
            (charge().env("PAYMENTS_PROXY", address), "PAYMENTS_PROXY"),
        ] {
            let ended = run.end();
            let error = ended.failed_as(2, "configuration");
            begins(message(&error), from);
            has(message(&error), [mistake, "; nothing was sent"]);
            ended.hides(["ary@"]);
        }
    }
    // An empty variable counts as unset; an empty option is refused.
    payments_at("https://localhost:1", GET).with("--proxy ''").end().failed(2);
    payments_at("https://localhost:1", GET).env("PAYMENTS_PROXY", "").end().failed(3);
    // Plain HTTP through a remote proxy would show everything to it.
    let peer = Peer::new(Then::Close);
    for line in [GET, "transaction get txn_1 --dry-run", "check"] {
        let run = payments_at(&peer.base_url, line);
        let ended = run.env("PAYMENTS_PROXY", &with_credentials("192.0.2.1:3128")).end();
        let error = ended.failed_as(2, "configuration");
        has(message(&error), ["a plain http base URL cannot be used with a proxy"]);
        assert_no_credentials(&ended);
    }
    assert_eq!(peer.connections(), 0);
}

#[test]
fn proxy_option_overrides_variable_and_no_other_variable_is_read() {
    let peer = Peer::responding("200 OK", responses::TRANSACTION_FOUND);
    let [flag, variable, other] = [(); 3].map(|()| ConnectProxy::tunnelling());
    let run = || {
        let mut run = payments_at(&peer.base_url, GET);
        for name in ["http_proxy", "https_proxy", "all_proxy"] {
            let address = format!("http://{}", other.address());
            run = run.env(name, &address).env(&name.to_ascii_uppercase(), &address);
        }
        run
    };
    let url = |proxy: &ConnectProxy| format!("http://{}", proxy.address());
    run().env("PAYMENTS_PROXY", &url(&variable)).with(["--proxy", &url(&flag)]).end().processed();
    // NO_PROXY does not apply to this setting either.
    let address = with_credentials(variable.address());
    run().env("PAYMENTS_PROXY", &address).env("NO_PROXY", "*").env("no_proxy", "*").end().processed();
    run().end().processed();
    assert_eq!([&flag, &variable, &other].map(|proxy| proxy.heads().len()), [1, 1, 0]);
    has(&variable.heads()[0], [CREDENTIALS]);
}

#[test]
fn proxy_password_on_the_command_line_is_warned_about_once() {
    const WARNING: &str = "every user of this machine can read the arguments of its processes, and --proxy contains a \
                           password: set PAYMENTS_PROXY instead";
    let peer = Peer::responding("200 OK", responses::TRANSACTION_FOUND);
    let proxy = ConnectProxy::tunnelling();
    let secret = with_credentials(proxy.address());
    let (user, empty) = (secret.replace(":open%20sesame", ""), secret.replace("open%20sesame", ""));
    let option = ["--proxy", &secret];
    let at = |line| payments_at(&peer.base_url, line);
    let resolve = "journal --journal /nowhere/journal.db resolve k --not-processed --note n";
    for (run, warnings) in [
        (at(GET).with(["--proxy", &user]), 0),
        (at(GET).with(["--proxy", &empty]), 0),
        (at(GET).env("PAYMENTS_PROXY", &secret), 0),
        (at(GET).with(option), 1),
        (at("check").with(option), 1),
        (at(GET).with(["--proxy", &format!("{secret}x")]), 1),
        (at(GET).env("PAYMENTS_API_KEY", "").with(option), 1),
        (payments("check").with(option), 1),
        (at(resolve).with(option), 1),
    ] {
        let ended = run.text();
        assert_eq!(ended.shown().matches(WARNING).count(), warnings, "{ended:?}");
        assert_no_credentials(&ended);
    }
    has(at(GET).with(option).end().exits(0).stderr, ["WARNING: ", WARNING]);
}
