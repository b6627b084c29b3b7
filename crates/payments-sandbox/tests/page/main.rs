//! The page at `/_sandbox/ui` in a real browser, while curl sends payments.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod browser;

use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc::{TryRecvError, channel};
use std::time::Instant;
use std::{env, fs};

use fantoccini::key::Key;
use payments_fake::Fixtures;
use payments_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::browser::Browser;

async fn start() -> (Sandbox, Browser) {
    let sandbox = Sandbox::builder().seed(7).ignore_unfired_faults().start().await.unwrap();
    let browser = Browser::open(&sandbox.ui_url()).await;
    (sandbox, browser)
}

/// Pays with curl, as a program of any language would.
fn pay(sandbox: &Sandbox, fields: Value) -> Output {
    let Value::Object(mut payment) = json!({"TokenId": "tok_approved", "ConvenienceFeeActive": false}) else {
        unreachable!("it is an object")
    };
    let Value::Object(fields) = fields else { panic!("fields of a payment") };
    payment.extend(fields);
    let output = Command::new("curl")
        .args(["-sS", "--noproxy", "*", &format!("{}/token-transaction", sandbox.base_url())])
        .args([
            "-H",
            &format!("Authorization: {}", sandbox.api_key()),
            "-H",
            "Content-Type: application/json",
        ])
        .args(["-d", &Value::from(payment).to_string()])
        .output();
    output.unwrap_or_else(|error| {
        panic!("curl does not run, and this test needs it: apt-get install curl ({error})")
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_response_is_shown_as_charged_and_saw_nothing() {
    let (sandbox, browser) = start().await;
    assert!(pay(&sandbox, json!({"Amount": 10.50, "ReferenceNo": "invoice 17"})).status.success());
    pay(&sandbox, json!({"Amount": 10.50, "TokenId": "tok_declined", "ReferenceNo": "invoice 18"}));
    browser.until_shown("#requests tbody tr", "declined").await;

    browser.click("#arm").await;
    browser.until_shown("#armed", "after_commit close on any").await;
    let output = pay(&sandbox, json!({"Amount": 99.00, "ReferenceNo": "invoice 19"}));
    assert_eq!(
        (output.status.code(), &*output.stdout),
        (Some(52), &b""[..]),
        "curl: empty reply from server"
    );

    let row = browser.until_shown("#requests tbody tr", "invoice 19").await;
    let ledger = sandbox.gateway().ledger();
    let id = ledger.entries().last().unwrap().transaction_id();
    let expected = format!(
        "token-transaction tok_approved · invoice 19 99.00 ✓ charged {id} nothing connection closed client unaware"
    );
    assert!(row.contains(&expected), "{row}");
    browser.until_shown("#ledger tfoot", "Charged, 2 payments 109.50").await;
    browser
        .until_shown("#figures", "Charged 109.50 2 payments Charged, client unaware 99.00 1 payment")
        .await;
    browser.until_shown("#heard", "99.00: service did: charged; client saw: nothing").await;

    browser.until_shown("#armed", "fired 1 of 1").await;
    browser.page.execute("document.activeElement.blur()", Vec::new()).await.unwrap();
    browser.until("return document.querySelector('#said').textContent === ''").await;
    browser.resize(1060, 700).await;
    picture(&browser, "sandbox.png").await;

    browser.click("#armed button").await;
    browser.until("return document.querySelector('#armed').children.length === 0").await;
    assert!(sandbox.gateway().faults().is_empty());
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amounts_are_shown_and_added_exactly() {
    let (sandbox, browser) = start().await;
    for amount in ["1.01", "0.1", "0.2", "1234567890123456.75"] {
        let transaction =
            format!(r#"{{"transactions":[{{"TransactionId":"txn_{amount}","Amount":{amount}}}]}}"#);
        sandbox.gateway().load(&Fixtures::from_json(&transaction).unwrap());
    }
    assert!(pay(&sandbox, json!({"Amount": 1.05, "ReferenceNo": r#"a "Amount": 7"#})).status.success());
    browser.until_shown("#requests tbody", r#"a "Amount": 7 1.05"#).await;
    browser.until_shown("#figures", "Charged 1,234,567,890,123,459.11 5 payments").await;
    let ledger = browser.until_shown("#ledger tbody", "1,234,567,890,123,456.75").await;
    for amount in [" 1.01", " 0.10", " 0.20", " 1.05"] {
        assert!(ledger.contains(amount), "{amount}: {ledger}");
    }
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_an_admin_port_the_page_shows_the_address_of_the_service() {
    let any_port = "127.0.0.1:0".parse().unwrap();
    let sandbox = Sandbox::builder().admin_listen(any_port).start().await.unwrap();
    let browser = Browser::open(&sandbox.ui_url()).await;
    browser.until_shown("#base", &sandbox.base_url()).await;
    browser.until_shown("#example", &format!("curl -sS {}/token-transaction ", sandbox.base_url())).await;
    browser.close().await;
}

/// The picture of the page in the guide, which is written if `UPDATE_DOCS` is set.
async fn picture(browser: &Browser, name: &str) {
    let png = browser.page.screenshot().await.unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    if env::var_os("UPDATE_DOCS").is_some() {
        assert!(png.len() < 150 * 1024, "{} bytes are too much for a picture in a repository", png.len());
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        fs::write(docs.join(name), png).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn markup_in_a_name_stays_text() {
    const MARKUP: &str = "<img src=x onerror=\"document.title='run'\">";
    let (sandbox, browser) = start().await;
    let tenant = sandbox.gateway().first_tenant();
    let customer = json!({"CustomerId": "cus_7", "CustomerName": MARKUP, "Email": "<b>x</b>"});
    tenant.add_customer_json(&customer.to_string()).unwrap();
    pay(&sandbox, json!({"Amount": 1, "ReferenceNo": MARKUP}));
    for place in ["#requests tbody", "#ledger tbody", "#customers tbody"] {
        browser.until_shown(place, MARKUP).await;
    }
    browser.until_shown("#customers tbody", "<b>x</b>").await;
    assert_eq!(browser.run("return document.querySelectorAll('img, b').length").await, 0);
    assert_eq!(browser.run("return document.title").await, "Payments sandbox");

    // Not even a script of the page can turn text into HTML, because the policy forbids it.
    let refused = "try { document.body.innerHTML = '<b>x</b>'; return false } catch { return true }";
    assert_eq!(browser.run(refused).await, true);
    let console = browser.console().await.to_string();
    assert!(console.contains("TrustedHTML"), "{console}");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_control_is_reachable_by_keyboard() {
    let (sandbox, browser) = start().await;
    tab_to(&browser, "arm").await;
    press(&browser, Key::Enter).await;
    browser.until_shown("#armed", "after_commit close").await;
    assert_eq!(sandbox.gateway().faults().len(), 1);

    tab_to(&browser, "freeze").await;
    press(&browser, Key::Space).await;
    browser.until_shown("#pace", "frozen").await;

    // Reset asks for confirmation, and Escape cancels it.
    tab_to(&browser, "reset").await;
    press(&browser, Key::Enter).await;
    browser.until("return document.querySelector('#sure').open").await;
    press(&browser, Key::Escape).await;
    browser.until("return !document.querySelector('#sure').open").await;
    assert_eq!(sandbox.gateway().faults().len(), 1, "nothing was reset");
    browser.close().await;
}

/// Presses Tab until the element with this id has the focus, and checks that the focus is visible.
async fn tab_to(browser: &Browser, id: &str) {
    for _ in 0..60 {
        press(browser, Key::Tab).await;
        if browser.run("return document.activeElement.id").await == id {
            let outline = "return getComputedStyle(document.activeElement).outlineStyle";
            assert_eq!(browser.run(outline).await, "solid");
            return;
        }
    }
    panic!("Tab does not reach {id}");
}

async fn press(browser: &Browser, key: Key) {
    let focused = browser.page.active_element().await.unwrap();
    focused.send_keys(&char::from(key).to_string()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_can_be_moved_and_everything_reset() {
    let (sandbox, browser) = start().await;
    browser.click("#freeze").await;
    browser.until_shown("#pace", "frozen").await;
    let set = "document.querySelector('#set input').value = '2030-01-31T12:00:00'";
    browser.run(set).await;
    browser.click("#set button").await;
    browser.until_shown("#now", "2030-01-31 12:00:00 UTC").await;
    browser.click("#move button").await;
    browser.until_shown("#now", "2030-02-01 12:00:00 UTC").await;
    pay(&sandbox, json!({"Amount": 1}));
    browser.until_shown("#ledger tbody", "2030-02-01 12:00:00").await;

    browser.click("#reset").await;
    browser.click("#confirm").await;
    browser.until_shown("#pace", "running").await;
    browser.until_shown("#ledger tfoot", "Charged, 0 payments 0.00").await;
    assert_eq!(sandbox.gateway().requests(), []);
    assert!(!browser.run("return document.querySelector('#empty').hidden").await.as_bool().unwrap());
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_load_clicks_work_and_the_state_is_read_once_a_second() {
    let begun = Instant::now();
    let (sandbox, browser) = start().await;
    let (stop, stopped) = channel::<()>();
    let paying = tokio::task::spawn_blocking(move || {
        while stopped.try_recv() == Err(TryRecvError::Empty) {
            pay(&sandbox, json!({"Amount": 1}));
        }
        sandbox
    });
    browser.until_shown("#requests tbody", "charged").await;
    browser.click("#freeze").await;
    browser.until_shown("#said", "Clock frozen").await;
    let readings =
        "return performance.getEntriesByType('resource').filter(of => of.name.endsWith('/state')).length";
    let readings = browser.run(readings).await.as_u64().unwrap();
    // One for the page, and one for the click.
    assert!(readings <= begun.elapsed().as_secs() + 2, "{readings}");
    drop(stop);
    let _sandbox = paying.await.unwrap();
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_works_in_dark_mode_on_a_narrow_screen_and_over_tls() {
    let builder = Sandbox::builder().seed(7).api_key("key_one").api_key("key_two").tls();
    let sandbox = builder.start().await.unwrap();
    let browser = Browser::open(&sandbox.ui_url()).await;
    let token = json!({"TokenId": "tok_7"});
    sandbox.gateway().tenant("key_two").unwrap().add_token_json(&token.to_string()).unwrap();

    // The records of another key.
    browser.until("return !document.querySelector('#tenant').hidden").await;
    browser.click("#key").await;
    let key = browser.page.active_element().await.unwrap();
    key.send_keys("key_two\n").await.unwrap();
    browser.until_shown("#tokens tbody", "tok_7").await;

    let colors =
        "const { color, backgroundColor } = getComputedStyle(document.body); return [color, backgroundColor]";
    browser.prefer("light").await;
    let light = browser.run(colors).await;
    browser.prefer("dark").await;
    let dark = browser.run(colors).await;
    assert!(light[0] != dark[0] && light[1] != dark[1], "{light} {dark}");
    browser.resize(400, 900).await;
    let overflow = "return document.documentElement.scrollWidth - innerWidth";
    assert_eq!(browser.run(overflow).await, 0, "no content is beyond the edge");
    assert!(browser.page.screenshot().await.unwrap().starts_with(b"\x89PNG"));
    browser.close().await;
}
