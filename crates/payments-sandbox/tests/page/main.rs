//! The page at `/_sandbox/ui` in a real browser, while curl sends payments.
#![cfg(unix)]
#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "a panic fails the test")]

mod browser;

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;
use std::{env, fs};

use payments_core::OperationName;
use payments_fake::{FakeGateway, Fault, Fixtures};
use payments_model::{AchTransaction, Amount, ConvenienceFee, Payer, TransactionType};
use payments_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::browser::Browser;

/// `None` if a program is missing.
async fn start() -> Option<(Sandbox, Browser)> {
    if browser::is_missing() {
        return None;
    }
    let sandbox = Sandbox::builder()
        .fresh_gateway(FakeGateway::builder().seed(7).ignore_unfired_faults())
        .start()
        .await
        .unwrap();
    let browser = Browser::open(&sandbox.ui_url()).await;
    Some((sandbox, browser))
}

/// Pays with curl, as a program of any language would.
fn pay(sandbox: &Sandbox, fields: Value) -> Output {
    curl(sandbox, fields).output().unwrap()
}

fn curl(sandbox: &Sandbox, fields: Value) -> Command {
    let Value::Object(mut payment) = json!({"TokenId": "tok_approved", "ConvenienceFeeActive": false}) else {
        unreachable!("it is an object")
    };
    let Value::Object(fields) = fields else { panic!("fields of a payment") };
    payment.extend(fields);
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--noproxy", "*", &format!("{}/token-transaction", sandbox.base_url())])
        .args([
            "-H",
            &format!("Authorization: {}", sandbox.api_key()),
            "-H",
            "Content-Type: application/json",
        ])
        .args(["-d", &Value::from(payment).to_string()]);
    curl
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_response_is_shown_as_charged_and_saw_nothing() {
    let Some((sandbox, browser)) = start().await else { return };
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
    browser.until_shown("#figures", "Charged 109.50 2 payments Client unaware 99.00 1 payment").await;
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
async fn a_client_that_leaves_during_a_delay_is_shown_as_saw_nothing() {
    let Some((sandbox, browser)) = start().await else { return };
    sandbox.gateway().arm(Fault::on_any().after_commit().delay(Duration::from_millis(200)));
    pay(&sandbox, json!({"Amount": 1, "ReferenceNo": "waits"}));
    browser.until_shown("#requests tbody tr", "HTTP 200 after a pause").await;
    let gate = sandbox.gateway().gate_after_commit(OperationName::TokenTransaction);
    let mut leaves = curl(&sandbox, json!({"Amount": 2, "ReferenceNo": "leaves"})).spawn().unwrap();
    browser.until_shown("#requests tbody tr", "leaves").await;
    leaves.kill().unwrap();
    leaves.wait().unwrap();
    // Nothing shows when the end of the connection has arrived.
    tokio::time::sleep(Duration::from_millis(200)).await;
    gate.release();
    let row = browser.until_shown("#requests tbody tr", "nothing connection closed").await;
    assert!(row.contains("leaves") && row.contains("client unaware"), "{row}");
    browser.until_shown("#figures", "Charged 3.00 2 payments Client unaware 2.00 1 payment").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amounts_are_shown_and_added_exactly() {
    let Some((sandbox, browser)) = start().await else { return };
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
    let Some((sandbox, browser)) = start().await else { return };
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
async fn a_reset_asks_first_and_removes_everything() {
    let Some((sandbox, browser)) = start().await else { return };
    pay(&sandbox, json!({"Amount": 1}));
    browser.until_shown("#ledger tfoot", "Charged, 1 payment 1.00").await;
    browser.click("#reset").await;
    browser.click("#cancel").await;
    assert_eq!(sandbox.gateway().requests().len(), 1, "nothing was reset");
    browser.click("#reset").await;
    browser.click("#confirm").await;
    browser.until_shown("#ledger tfoot", "Charged, 0 payments 0.00").await;
    browser.until_shown("#empty", "No request yet").await;
    assert_eq!((sandbox.gateway().requests(), sandbox.gateway().ledger().entries().len()), (vec![], 0));
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_reconnects_after_a_restart_and_says_what_it_cannot_know() {
    if browser::is_missing() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let builder = || Sandbox::builder().data_file(folder.path().join("state.json"));
    let sandbox = builder().start().await.unwrap();
    let address = sandbox.local_addr();
    let browser = Browser::open(&sandbox.ui_url()).await;
    pay(&sandbox, json!({"Amount": 1}));
    browser.until_shown("#figures", "Client unaware 0.00 0 payments").await;
    sandbox.shutdown().await.unwrap();
    browser.until_shown("#live", "not connected").await;

    let sandbox = builder().listen(address).start().await.unwrap();
    browser.until_shown("#live", "live, earlier requests are gone: restart or reset").await;
    browser.until_shown("#empty", "No request since the sandbox started").await;
    let unaware = "Client unaware ? not known for 1 earlier payment";
    browser.until_shown("#figures", unaware).await;
    pay(&sandbox, json!({"Amount": 2}));
    browser.until_shown("#figures", "Charged 3.00 2 payments").await;
    browser.page.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_cut_on_any_screen_and_refusals_and_authorizations_are_told() {
    let Some((sandbox, browser)) = start().await else { return };
    pay(&sandbox, json!({"Amount": 1, "TokenId": "tok_nobody_has"}));
    pay(&sandbox, json!({"Amount": 1, "TokenId": "tok_insufficient_funds"}));
    let payer = Payer {
        customer_name: "A. Payer",
        email: "payer@example.com",
        country_code: "+1",
        phone_number: "555-0100",
        country: "US",
        postal_code: "94105",
        ip_address: "203.0.113.7",
    };
    let ach = AchTransaction::builder(
        Amount::from_cents(3_00),
        TransactionType::Sale,
        ConvenienceFee::Inactive,
        payer,
    );
    let ach = ach.account_field("AccountNumber", "000123456789").build().unwrap();
    sandbox.gateway().client().process_ach(&ach).await.unwrap();
    let long = "0123456789".repeat(15);
    let unknown_path = format!("{}/refunds/of/{long}", sandbox.base_url());
    curl(&sandbox, json!({"Amount": 1_234_567.89, "ReferenceNo": long})).arg(&unknown_path).output().unwrap();
    let customer = json!({"CustomerId": format!("cus_{long}"), "CustomerName": long, "Email": long});
    sandbox.gateway().first_tenant().add_customer_json(&customer.to_string()).unwrap();
    let authorization = r#"{"transactions":[{"TransactionId":"txn_auth","Amount":7,"TransactionType":2}]}"#;
    sandbox.gateway().load(&Fixtures::from_json(authorization).unwrap());
    let fault = json!({"operation": "any", "phase": "after_commit", "kind": "stall", "skip": 2, "times": 2});
    sandbox.gateway().arm(Fault::from_json(&fault.to_string()).unwrap());
    pay(
        &sandbox,
        json!({"Amount": 1, "ReferenceNo": "a reference that is about as long as people make them"}),
    );
    browser.until_shown("#customers tbody", &long).await;
    browser.until_shown("#requests tbody", "Path not found").await;
    browser.until_shown("#requests tbody", "✕ refused invalid token").await;
    browser.until_shown("#requests tbody", "✕ declined insufficient funds").await;
    browser.until_shown("#requests tbody", "transaction ACH · A. Payer 3.00 ✓ charged").await;
    browser.until_shown("#ledger tbody", "✕ declined insufficient funds").await;
    browser.until_shown("#ledger tbody", "✓ authorized").await;
    browser.until_shown("#figures", "Charged 1,234,571.89 3 payments Authorized 7.00 1 payment").await;
    browser.until_shown("#armed", "lets the first 2 pass, seen 1, fired 0 of 2").await;

    let cut = "return [document.documentElement, ...document.querySelectorAll('.wide')]
        .map(of => of.scrollWidth - of.clientWidth)";
    for colors in ["light", "dark"] {
        browser.prefer(colors).await;
        for width in [375, 600, 900, 920, 1280] {
            browser.resize(width, 900).await;
            let cut = browser.run(cut).await;
            assert!(cut.as_array().unwrap().iter().all(|beyond| *beyond == 0), "{width} px: {cut}");
        }
    }

    browser.resize(375, 900).await;
    let small = "return [...document.querySelectorAll('button, input, select, a')]
        .filter(of => of.checkVisibility() && of.getBoundingClientRect().height < 44).length";
    assert_eq!(browser.run(small).await, 0, "a finger can touch every control of a phone");
    browser.close().await;
}
