//! Long texts of `--help`, in lines for a terminal of 80 columns.

pub(crate) mod journal;

use clap::{Arg, Args as _, Command};
use payments_fake::test_values::{self, TEST_VALUES};

use crate::args::ClientOptions;

/// The end of `payments --help`: what holds for every command that talks to a service.
pub(crate) const SETTINGS: &str = "\
Settings:
  base address   --base-url, else PAYMENTS_BASE_URL, else the profile's
                 base_url; https, or plain http for a loopback address or
                 localhost alone
  API key        --api-key-file, else PAYMENTS_API_KEY (the key itself), else
                 PAYMENTS_API_KEY_FILE, else the profile's api_key or
                 api_key_file; one newline at a file's end is ignored
  deadline       --timeout, else the profile's timeout, else 60 seconds
  authority      --ca-cert, else the profile's ca_cert
  proxy          --proxy, else PAYMENTS_PROXY, else the profile's proxy, else
                 none: http://host:port or http://user:password@host:port, both
                 percent-encoded; for a password, prefer PAYMENTS_PROXY to the
                 option. No other variable is read, such as HTTPS_PROXY
  An empty variable counts as unset. The key and card data are never arguments,
  because every user of a machine can read the arguments of its processes.
  A charge whose answer comes after the deadline has an unknown outcome.
  `payments check` shows which setting came from where.

Profiles stand in $XDG_CONFIG_HOME/payments/config.toml, or else in
$HOME/.config/payments/config.toml; --profile or PAYMENTS_PROFILE chooses one:
  [profiles.sandbox]
  base_url = \"http://127.0.0.1:8080/api/v1/public\"
  api_key = \"test_key_of_the_fake_gateway\"

  [profiles.production]
  base_url = \"https://pay.example.com/api/v1/public\"
  api_key_file = \"production.key\"
  timeout = 90
  ca_cert = \"authority.pem\"
  proxy = \"http://proxy.example.com:3128\"
  All six are optional. Paths begin at the file's folder. No profile is chosen
  by itself, so that no charge goes to production unasked, and a variable that
  is set goes before the profile. The file must be yours or root's, nobody else
  may write to it, and if it holds an api_key or the password of a proxy, nobody
  else may open it either: chmod 600. A file with the key alone must be yours or
  root's too, with nobody else to write to it; if others may read it, a warning
  says so.

Exit codes:
  0  processed, or found; or with --dry-run, shown and not sent
  1  anything else, such as a result that could not be written: see stderr
  2  invalid use or input; nothing was sent
  3  not processed; it is safe to run the same command again
  4  rejected; correct the request, then run it again: with --key, add
     --after-rejection, or after 401, 403 and 429 payments journal retry
  5  OUTCOME UNKNOWN: it may have been processed; do not run it again: look it
     up if its id is known, else reconcile it by what the message names
  6  rejected with HTTP 401: the API key was refused
  7  rejected with HTTP 404: not found

With --output json, stdout is exactly one JSON document in every case:
  {\"outcome\":\"processed\",\"http_status\":200,\"data\":{…}}
  {\"outcome\":\"invalid|not_processed|rejected|unknown\",\"error\":{\"kind\":…,\"message\":…,…}}
  Of an unknown outcome, error has sent_at too, and where known, amount,
  reference and transaction_id: what it can be found by. Without sent_at
  nothing was sent now (kind journal).
  With --key it also has key, and recorded if an earlier call ended so; and
  same_transaction_as, another key, if the journal holds its transaction twice.
With --dry-run, which reads and checks everything and contacts nobody:
  {\"outcome\":\"dry_run\",\"request\":{\"method\":…,\"url\":…,\"headers\":{…},\"body\":{…}}}";

/// The exit codes of what moves money.
pub(crate) const CHARGE_CODES: &str = "\
Exit codes (settings and JSON: payments --help):
  0  processed; or with --dry-run, shown and not sent
  1  anything else: see stderr
  2  invalid use or input; nothing was sent
  3  not processed; it is safe to run it again
  4  rejected; 6 with HTTP 401, 7 with HTTP 404
  5  OUTCOME UNKNOWN: do not run it again; look it up or reconcile

With --journal and --key it is sent at most once for its key, however often it
is run. A later call sends nothing and shows what became of the first, as the
same document with \"recorded\":true. A key in flight elsewhere is exit code 5
(in_progress). So is a journal that cannot be read or written (journal): nothing
was sent now, an earlier call may have paid, and the same command may be run
again. A key that stands for another request (key_reused) is 5 if that one was
or may have been paid, and 2 if it moved no money. If only the outcome cannot be
written down, it is shown all the same, with the member journal. One Ctrl-C
waits for the answer, so that it is recorded, a second one does not. The journal
is explained by payments journal --help.

After a rejection, another card or a corrected request is one new attempt with
the same key and --after-rejection. It is sent only if the key was rejected or
not processed. No other call sends a rejected key again, unless a person reopens
it with payments journal retry.";

/// The exit codes of look-ups.
pub(crate) const LOOK_UP_CODES: &str = "\
Exit codes (settings and JSON: payments --help):
  0  found
  1  anything else: see stderr
  2  invalid use or input; nothing was sent
  3  not looked up; it is safe to run it again
  4  rejected; 6 with HTTP 401, 7 with HTTP 404: not found";

pub(crate) const TRANSACTION_CREATE: &str = "\
Process a card or ACH payment (POST /transaction)

The file is a JSON object with the interface's field names. A sale, with
PAYMENTS_BASE_URL and PAYMENTS_API_KEY set to what `payments sandbox` prints:

payments transaction create --file - <<'END'
{
  \"TransactionType\": \"1\",
  \"Amount\": 10.50,
  \"ConvenienceFeeActive\": false,
  \"SuggestedMode\": \"Card\",
  \"CardNumber\": \"4242424242424242\",
  \"Cvv\": \"123\",
  \"ExpiryDate\": \"1233\",
  \"BillingCustomerName\": \"Ada Example\",
  \"BillingEmail\": \"ada@example.com\",
  \"BillingCountryCode\": \"+1\",
  \"BillingPhoneNumber\": \"555-0199\",
  \"BillingCountry\": \"US\",
  \"BillingPostalCode\": \"94105\",
  \"IpAddress\": \"203.0.113.7\"
}
END

  TransactionType  \"1\" is a sale, \"2\" an authorisation; without it the service's
                   default applies
  SuggestedMode    ACH in any letter case is an ACH payment, anything else a
                   card. ACH takes no CardNumber, Cvv and ExpiryDate; every field
                   that the interface does not name is then one of the account's

Real card data belongs in a file or a pipe, not in a shell's history.";

pub(crate) const TRANSACTION_GET: &str = "\
Look one transaction up (GET /transaction/{id})

  payments transaction get txn_1

A record is no proof of a charge: the meaning of its Status is not published.
That there is none (exit code 7) is no proof of the opposite: a payment of
unknown outcome may still be made.";

pub(crate) const TOKEN_TRANSACTION_CREATE: &str = "\
Process a payment with a stored token (POST /token-transaction)

The file is a JSON object with the interface's field names. With
PAYMENTS_BASE_URL and PAYMENTS_API_KEY set to what `payments sandbox` prints:

payments token-transaction create --file - <<'END'
{
  \"TokenId\": \"tok_approved\",
  \"GatewayCustomerId\": \"gc_1\",
  \"Amount\": 45.00,
  \"ConvenienceFeeActive\": false,
  \"Description\": \"Tea, 500 g\",
  \"ReferenceNo\": \"invoice 1843\"
}
END

  GatewayCustomerId, Description and ReferenceNo may be absent.";

pub(crate) const VOID: &str = "\
Void a previously authorised transaction (POST /void)

  payments void txn_1 --reason \"ordered twice\"

After an unknown outcome, look the transaction up before anything else.";

pub(crate) const CUSTOMER_GET: &str = "\
Look one customer up (GET /customer/{id})

  payments customer get cus_1";

pub(crate) const CHECK: &str = "\
Check address, TLS and key without moving money

  payments check --profile sandbox

  settings    they are there and readable, and which came from where
  connection  the name resolves, and a TCP connection can be made
  tls         the certificate is good; skipped for plain http
  key         a look-up of an id that nobody has is answered with 404

The look-up is the only request that is sent. With --output json, `data` of the
document has the settings and the steps, after a failure too.";

/// The exit codes of the check.
pub(crate) const CHECK_CODES: &str = "\
Exit codes (settings and JSON: payments --help):
  0  every step passed
  1  anything else: see stderr
  2  invalid use or settings; nothing was sent
  3  not reached, no good TLS, or no answer of the service; see the failed step
  4  refused in another way than by 401 or 404
  6  HTTP 401: the API key was refused
  7  HTTP 404, but not for the id: the base address is likely wrong";

pub(crate) const COMPLETIONS: &str = "\
Print the completions for a shell

  bash  payments completions bash \\
          > ~/.local/share/bash-completion/completions/payments
  zsh   payments completions zsh > ~/.zfunc/_payments     (a folder of $fpath)
  fish  payments completions fish > ~/.config/fish/completions/payments.fish

The script is the same at every call of one version; print it again after an
update.";

/// The exit codes of completions.
pub(crate) const COMPLETIONS_CODES: &str = "\
Exit codes:
  0  printed
  1  it could not be written
  2  invalid use";

/// The test values come from the sandbox's own table.
pub(crate) fn sandbox() -> String {
    let is_main = |value| MAIN_TEST_VALUES.contains(&value);
    let rows: Vec<_> = TEST_VALUES
        .iter()
        .filter(|row| is_main(row.value))
        .map(|row| format!("  {:17}  {:17}  {}", row.field.as_str(), row.value, row.result))
        .collect();
    let rows = rows.join("\n");
    format!(
        "\
Serve the payment service on this machine until SIGINT or SIGTERM

The first line of stdout is one JSON object with base_url, admin_url, ui_url,
api_key, version, seed and (with --tls) ca_cert, written when the sandbox is
ready; everything else goes to stderr. A signal lets what is in flight be
finished. Open ui_url in a browser to see requests, ledger and faults.

Test values, among others:
{rows}

The whole table: payments sandbox magic

Faults on demand, here an answer that is lost after the payment was made:

  curl -d '{{\"operation\":\"transaction\",\"phase\":\"after_commit\",\"kind\":\"close\"}}' \\
       ADMIN_URL/faults

One request asks for its own with the header Sandbox-Fault: after_commit=close
Under ADMIN_URL are also state, requests, reset, customers, tokens and clock."
    )
}

const MAIN_TEST_VALUES: [&str; 8] = [
    test_values::VISA,
    test_values::DECLINED,
    test_values::INSUFFICIENT_FUNDS,
    test_values::TOK_APPROVED,
    test_values::TOK_DECLINED,
    test_values::TOK_THEN_DECLINED,
    test_values::INVALID_POSTAL_CODE,
    test_values::CUSTOMER,
];

/// The exit codes of the sandbox.
pub(crate) const SANDBOX_CODES: &str = "\
Exit codes:
  0  stopped by a signal
  1  it could not listen, use the data file or write its first line: see stderr
  2  invalid use, or a fixture file that is wrong";

/// The exit codes of the demonstration.
pub(crate) const DEMO_CODES: &str = "\
Exit codes:
  0  what the client believed and what the sandbox did agree everywhere
  1  they do not, or the demonstration could not run
  2  invalid use";

/// The options of a command that takes them only to refuse them, so its help must not offer them.
pub(crate) fn hidden_client_options() -> Vec<Arg> {
    let options = ClientOptions::augment_args(Command::new("payments"));
    options.get_arguments().map(|option| option.clone().hide(true)).collect()
}

/// The same of a command that keeps the journal, which says with `--verbose` which one that is.
pub(crate) fn hidden_settings() -> Vec<Arg> {
    let mut options = hidden_client_options();
    options.retain(|option| option.get_id() != "verbose");
    options
}

pub(crate) const BATCH_RUN: &str = "\
Charge every row of a file, each at most once

  payments batch run invoices.csv --journal billing.db --results results.jsonl

CSV has a header with the names of the token request and Key; JSON Lines has
an object with the same names in each line:

Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo
invoice-1843,tok_approved,45.00,false,invoice 1843
{\"Key\":\"invoice-1843\",\"TokenId\":\"tok_approved\",\"Amount\":45.00,\"ConvenienceFeeActive\":false}

  Key  your own name for the charge: 1 to 128 visible ASCII characters, unlike
       every other in the file and the same whenever the file is made again;
       where there is none, ReferenceNo is the key

The whole file is checked before anything is sent, and a file with an error is
not sent at all. Run the same command again to finish what is left: what was
processed or rejected, and what is unknown, is not sent again.
With --dry-run, everything is checked and counted, and nothing is sent.

One Ctrl-C lets what is in flight end. One more, or one after the run was
stopped by anything else, ends at once, and what was in flight is unknown. An
outage is waited out for --patience, and HTTP 429 by a pause before the next
row. 401 and 403 stop the run. Rows that were rejected with 401, 403 or 429 stay
rejected until `payments journal retry --status 401,403,429`. A 403 that is not
the service's own is unknown: something in between may have answered after the
service acted.

A key that the journal has for another request is an error of the file. A row
that the journal cannot take is not started, and the run stops: this run did not
send it, but an earlier run may have paid it.

Nobody has to read stderr: what is not read is dropped and counted.

The journal is the account, `payments journal export` prints it. --results has
what ended while it was written: what a killed run had not written there yet,
or what a person resolved, it does not have.";

/// The exit codes of a billing run.
pub(crate) const BATCH_RUN_CODES: &str = "\
Exit codes (settings and JSON: payments --help), the first that applies:
  2  invalid use, or a file with an error; nothing was sent
  5  OUTCOME UNKNOWN of some rows, in flight at the end included, or answered and
     not written to the journal: they are listed and not sent again
  6  stopped by HTTP 401: the API key was refused
  3  unfinished, in flight elsewhere included; the same command goes on with it
  4  some were rejected
  1  anything else, such as results that could not be written: see stderr
  0  every row is processed; or with --dry-run, the file is valid
With --output json, one document with how many rows stand where, and their sums:
  {\"outcome\":…,\"stopped\":…,\"rows\":{\"processed\":{\"count\":3,\"sum\":31.50},…},
   \"rejected_by_status\":{\"429\":{…}},\"not_recorded\":{…},\"unresolved\":[…],
   \"same_transaction\":[…],\"results_incomplete\":…}
  not_recorded is counted by its answer too: the journal could not take it.
  With --dry-run, what would be sent is not_started.";

/// What the option means where there are many requests.
pub(crate) fn dry_run_of_a_batch() -> Arg {
    let options = ClientOptions::augment_args(Command::new("payments"));
    let option = options.get_arguments().find(|option| option.get_id() == "dry_run");
    option
        .expect("it is an option of every command")
        .clone()
        .help("Check and count every row, and send nothing")
}
