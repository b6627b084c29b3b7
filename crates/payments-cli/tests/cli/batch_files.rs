//! The checks of a billing file before anything is sent.
#![cfg(unix)]

use std::fmt::Write as _;
use std::process::Command;

use crate::prelude::*;

const HEADER: &str = "Key,TokenId,GatewayCustomerId,Amount,ConvenienceFeeActive,Description,ReferenceNo\n";
const SHORT: &str = "Key,TokenId,Amount,ConvenienceFeeActive";

/// The rule for an unknown heading.
const NO_COLUMN: &str = "is none of the columns Key, TokenId, GatewayCustomerId, Amount, ConvenienceFeeActive, Description, \
                         ReferenceNo: fix the name, or give --ignore-columns";

/// A dry run of the file at this path. Checks that it contacts nobody and creates no journal.
fn dry_run_of(path: &str, options: &str) -> Ended {
    let peer = Peer::new(Then::Close);
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal.db");
    // Global options work before the command too.
    let run = payments_at(&peer.base_url, ["--dry-run", "batch", "run", path]);
    let ended = run.env("PAYMENTS_JOURNAL", journal.to_str().unwrap()).with(options).end();
    assert_eq!(peer.connections(), 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a journal was created");
    ended
}

/// The same of a file with this content.
fn dry_run_with(content: impl AsRef<[u8]>, options: &str) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    std::fs::write(&path, content).unwrap();
    dry_run_of(path.to_str().unwrap(), options)
}

fn dry_run(content: impl AsRef<[u8]>) -> Ended {
    dry_run_with(content, "")
}

/// Checks the problems of such a file.
#[track_caller]
fn refuses(content: impl AsRef<[u8]>, expected: impl IntoIterator<Item = impl AsRef<str>>) {
    let expected: Vec<_> = expected.into_iter().map(|it| it.as_ref().to_owned()).collect();
    assert_eq!(listed(&dry_run(content)), expected);
}

#[track_caller]
fn listed(ended: &Ended) -> Vec<String> {
    let wrong = ended.wrong_rows();
    assert_eq!(ended.failed_as(2, "batch_file")["violation_count"], wrong.len());
    wrong
}

/// The number and sum of the rows to send, as JSON.
#[track_caller]
fn to_send(content: impl AsRef<[u8]>) -> String {
    let ended = dry_run(content).exits(0);
    let mut warnings =
        ended.stderr.lines().filter(|line| !line.contains("rows to send without a ReferenceNo"));
    begins(warnings.next().unwrap(), "WARNING: there is no journal at ");
    assert_eq!(warnings.next(), None, "{ended:?}");
    let document = ended.json();
    assert_eq!(document["outcome"], "dry_run");
    assert_eq!(document["rows"]["total"], document["rows"]["not_started"]);
    let rows = ended.stdout.split_once(r#""not_started":"#).unwrap().1;
    rows.split_inclusive('}').next().unwrap().to_owned()
}

#[test]
fn valid_file_is_counted_and_summed_exactly_d52() {
    // Numeric ids that are no card numbers are accepted.
    let rows = "a,tok_approved,gc_1,0.10,false,\"tea, 500 g\",\nb,tok_approved,,0.20,TRUE,,order 2\n\
                ,tok_approved,,90071992547409.93,False,,c\n\
                9405701444882224,9477709629051443,,1,false,,9405701444882224\n\
                1793000000000,7000000000000005,,1,false,,2026112100000017\n";
    assert_eq!(to_send(format!("{HEADER}{rows}")), r#"{"count":5,"sum":90071992547412.23}"#);
}

#[test]
fn common_file_variations_are_accepted() {
    for content in [
        // With a byte order mark and CRLF, without a final line break, with CR, and with empty lines and rows.
        "\u{feff}HEADER\r\na,t,1,false\r\nb,t,1,false\r\n",
        "HEADER\na,t,1,false\nb,t,1,false",
        "HEADER\ra,t,1,false\rb,t,1,false\r",
        "\n\nHEADER\n\na,t,1,false\n\r\n\nb,t,1,false\n\n\n",
        "HEADER\na,t,1,false\n,,,\nb,t,1,false\n,,,\n",
        // With trailing commas, and with cells that a spreadsheet left out.
        "HEADER,,\na,t,1,false,,\nb,t,1,false,,\n",
        "HEADER\na,t,1,false,,\nb,t,1,false\n",
        "HEADER,Description,ReferenceNo\na,t,1,false\nb,t,1,false,x\n",
        "ConvenienceFeeActive,Amount,Key,TokenId\nfalse,1,a,t\nfalse,1,b,t\n",
        "\"Key\",\"TokenId\",\"Amount\",\"ConvenienceFeeActive\"\n\"a\",t,\"1\",\"false\"\nb,t,1,false",
    ] {
        assert_eq!(to_send(content.replace("HEADER", SHORT)), r#"{"count":2,"sum":2.00}"#, "{content}");
    }
}

/// The row would be charged again when the whole file is run.
#[test]
fn row_that_may_be_cut_is_warned_of_d53() {
    let workspace = Workspace::open();
    let header = "TokenId,Amount,ConvenienceFeeActive,ReferenceNo\n";
    let mut ends = Vec::new();
    for reference in ["order-1", "order-2\n", "order-2", "\"order-3\""] {
        workspace.write("rows.csv", format!("{header}tok_approved,10.50,false,{reference}"));
        ends.push(workspace.bills("").exits(0).stderr.contains("as if the file had been cut"));
    }
    // Of a row that was charged already there is nothing to say.
    assert_eq!(ends, [true, false, false, false]);
}

#[test]
fn every_problem_is_reported_with_its_line() {
    let rows = "\
a,tok,gc_1,10.50,false,,
b,,,0,yes,,
a,tok,,10.505,false,\"two
lines\",
,tok,,1e99,,,
bad key,tok,,+1,true,,
,tok,,1,true,,4111111111111111
c,tok,,1,true,
d,tok,,1,true,,,x
e,tok,,1 000,true,,
b,tok,,92233720368547758.07,true,,
";
    refuses(
        format!("{HEADER}{rows}"),
        [
            "3 TokenId is required",
            "3 Amount must be above zero",
            "3 ConvenienceFeeActive must be true or false",
            "4 Amount must have at most two decimal places",
            "4 Key is the same as in line 2",
            "6 Key is required if there is no ReferenceNo",
            "6 Amount must have at most 18 significant digits, and no extreme exponent",
            "6 ConvenienceFeeActive is required",
            "7 Key must consist of visible ASCII characters, without spaces",
            "7 Amount must be a number such as 10.50",
            "8 ReferenceNo must not contain a card number; if it only looks like one, give --ids-are-not-cards",
            "10 row has 8 cells, and the header has 7; a value with a comma needs quotes, and an amount needs a point \
             and not a comma",
            "11 Amount must be a number such as 10.50",
            "12 Amount makes the sum of the file too large to be exact",
            "12 Key is the same as in line 3",
        ],
    );
    let rows = "a,t,,0,false,,\n".repeat(150);
    let text = dry_run_with(format!("{HEADER}{rows}"), "--output text").exits(2);
    let lines: Vec<_> = text.stderr.lines().collect();
    assert_eq!((&*text.stdout, lines[0]), ("", "INVALID, nothing was sent (exit code 2)"));
    has(lines[1], ["has 299 problems"]);
    assert_eq!(lines[2], "  line 2: Amount must be above zero");
    assert_eq!(lines[4], "  line 3: Key is the same as in line 2");
    assert_eq!((lines.len(), lines[102]), (103, "  and 199 more; --output json has up to 10000"));
}

/// HEADER and ROW are good ones, and UNKNOWN is the rule for an unknown heading.
#[test]
fn header_is_checked() {
    let semicolons = "1 header has columns separated by semicolons; they must be separated by commas";
    let tabs = "1 header has columns separated by tabs; they must be separated by commas";
    let preceded =
        "1 header is preceded by a line sep=…, which is a note for a spreadsheet: remove that line";
    let long = "x".repeat(41);
    let shortened = format!("1 \"{}…\" UNKNOWN", "x".repeat(40));
    for (content, problems) in [
        (
            "Key,TokenId,Amount,amount,TokenId\nROW",
            &[
                "1 amount UNKNOWN",
                "1 TokenId is a column more than once",
                "1 ConvenienceFeeActive is missing in the header",
            ][..],
        ),
        (
            "TokenId,Amount,ConvenienceFeeActive,4111111111111111\nROW",
            &["1 \"****************\" UNKNOWN", "1 Key or ReferenceNo is missing in the header"],
        ),
        // The rows are checked even if a column is unknown. A name is shown as it is written, without a card number.
        ("HEADER,Note\na,t,0,false,x", &["1 Note UNKNOWN", "2 Amount must be above zero"]),
        ("HEADER,Größe\nROW,x", &["1 \"Größe\" UNKNOWN"]),
        ("HEADER,Token Id\nROW,x", &["1 \"Token Id\" UNKNOWN"]),
        ("HEADER,4111 1111 1111 1111\nROW,x", &["1 \"**** **** **** ****\" UNKNOWN"]),
        (&format!("HEADER,{long}\nROW,x"), &[&shortened]),
        (
            "HEADER, Description,ReferenceNo\u{a0}\nROW,x,x",
            &[
                "1 \" Description\" has white space around the name Description: remove it",
                "1 \"ReferenceNo\\u{a0}\" has white space around the name ReferenceNo: remove it",
            ],
        ),
        // It is not reported as missing as well.
        (
            "Key, TokenId,Amount,ConvenienceFeeActive\nROW",
            &["1 \" TokenId\" has white space around the name TokenId: remove it"],
        ),
        ("HEADER,\nROW,x", &["2 row has a value in column 5, which has no name"]),
        // The cells of such a row are not checked, because their columns are unclear.
        (
            "HEADER\na,t,12,50,false",
            &[
                "2 row has 5 cells, and the header has 4; a value with a comma needs quotes, and an amount needs a point \
               and not a comma",
            ],
        ),
        ("Key;TokenId;Amount;ConvenienceFeeActive\na;t;1;false", &[semicolons]),
        ("Key\tTokenId\tAmount\tConvenienceFeeActive\na\tt\t1\tfalse", &[tabs]),
        ("sep=;\nKey;TokenId;Amount;ConvenienceFeeActive\na;t;1;false", &[semicolons]),
        ("sep=,\nHEADER\nROW", &[preceded]),
        ("SEP=|\nHEADER\nROW", &[preceded]),
        ("\n\r", &["1 header is missing: the file is empty"]),
        ("HEADER", &["1 file has no rows"]),
        ("HEADER\n,,,\n", &["1 file has no rows"]),
    ] {
        let content = content.replace("HEADER", SHORT).replace("ROW", "a,t,1,false");
        refuses(content + "\n", problems.iter().map(|problem| problem.replace("UNKNOWN", NO_COLUMN)));
    }
}

#[test]
fn bytes_that_are_no_text_and_oversized_rows_are_reported_but_not_shown() {
    let content = [
        format!("{SHORT},Description\na,t,1,false,").as_bytes(),
        b"\xff\nb,t\0,1,false,\n\"c\n\",t,1,false,\n",
    ]
    .concat();
    refuses(
        content,
        [
            "2 Description must be UTF-8",
            "3 TokenId must not contain a NUL character",
            "3 TokenId is required",
            "4 Key must consist of visible ASCII characters, without spaces",
        ],
    );
    for beginning in [&b"\xff\xfeK\0"[..], b"\xfe\xff\0K"] {
        dry_run(beginning).refused("UTF-16");
    }
    let (large, commas) = ("x".repeat(10 << 20), ",".repeat(100_000));
    // The last one is within the limit of a row, but longer than the limit of a request.
    let rows = format!(
        "a,t,,1,false,\"{large}\n{large}\",\n{commas}\nb,t,,0,false,,\nc,t,,1,false,{},\n",
        "x".repeat(70_000)
    );
    refuses(
        format!("{HEADER}{rows}"),
        [
            "2 row must be at most 128 KiB in 256 cells",
            "4 row must be at most 128 KiB in 256 cells",
            "5 Amount must be above zero",
            "6 body must be at most 65536 bytes of JSON",
        ],
    );
}

#[test]
fn only_a_regular_csv_file_that_fits_into_memory_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("empty.csv"), "").unwrap();
    assert!(Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
    let json = r#"{"Key":"a","TokenId":"t","Amount":1,"ConvenienceFeeActive":false}"#;
    for name in ["rows", "rows.jsonl"] {
        std::fs::write(path(name), json).unwrap();
    }
    std::fs::write(path("large.csv"), HEADER).unwrap();
    std::fs::File::options().write(true).open(path("large.csv")).unwrap().set_len((256 << 20) + 1).unwrap();
    let no_csv = "the file of the billing run is JSON Lines by its name or its first letter, and must be CSV";
    for (name, expected) in [
        (".", "is a directory"),
        ("none", "cannot be read"),
        ("empty.csv", "is empty"),
        ("fifo", "must be a regular file"),
        ("/dev/null", "must be a regular file"),
        ("rows", no_csv),
        ("rows.jsonl", no_csv),
        (
            "large.csv",
            "the file of the billing run is larger than 256 MiB and would not fit into memory: split it",
        ),
    ] {
        has(dry_run_of(&path(name), "").refusal(), [expected, "; nothing was sent"]);
    }
    has(dry_run_of("-", "").refusal(), ["must be a regular file"]);
}

/// Checks rows of a key, a token, a description and a reference, each with a field that breaks this rule, or none.
#[track_caller]
fn refuses_texts(rows: &[([&str; 4], &str, &str)]) {
    let (mut content, mut problems) = (HEADER.to_owned(), Vec::new());
    for (line, (texts, field, rule)) in (2..).zip(rows) {
        let [key, token, description, reference] =
            texts.map(|text| format!("\"{}\"", text.replace('"', "\"\"")));
        writeln!(content, "{key},{token},,1.00,false,{description},{reference}").unwrap();
        problems.extend((!field.is_empty()).then(|| format!("{line} {field} {rule}")));
    }
    refuses(content, problems);
}

#[test]
fn white_space_around_a_text_is_refused_everywhere_d53() {
    let rule = "must not begin or end with white space";
    let key_rule = "must consist of visible ASCII characters, without spaces";
    refuses_texts(&[
        (["b", "tok_approved ", "d", "r"], "TokenId", rule),
        (["c", "t", "\td", "r"], "Description", rule),
        (["d", "t", "d", "r\u{a0}"], "ReferenceNo", rule),
        ([" h", "t", "d", "r"], "Key", key_rule),
        (["i\u{a0}", "t", "d", "r"], "Key", key_rule),
        // An emoji ends with a character that is not shown.
        (["j", "t", "thanks \u{2764}\u{fe0f}", "r"], "", ""),
        // A reference that is the key is reported once.
        (["", "t", "d", " r"], "ReferenceNo", rule),
    ]);
    let rows =
        "a,t,gc_1 ,1,false,,\nb,t,, 1.00,false,,\nc,t,,1.00 ,false,,\nd,t,,1, false,,\ne,t,,1,TRUE\u{a0},,\n";
    let fields =
        ["2 GatewayCustomerId", "3 Amount", "4 Amount", "5 ConvenienceFeeActive", "6 ConvenienceFeeActive"];
    refuses(format!("{HEADER}{rows}"), fields.map(|field| format!("{field} {rule}")));
}

#[test]
fn spreadsheet_errors_and_formulas_are_no_key_id_or_reference_d53() {
    let error = "must not be an error value of a spreadsheet";
    let error_as_key = format!("{error}, because it is the key of a row without Key");
    let formula = "must not be a formula of a spreadsheet";
    let rounded = "must not be a number that a spreadsheet has shortened: format the column as text";
    refuses_texts(&[
        (["#REF!", "t", "#N/A", "r"], "Key", error),
        (["b", "#N/A", "=1", "r"], "TokenId", error),
        (["c", "t", "d", "#BEZUG!"], "ReferenceNo", error),
        (["=\"00123\"", "t", "d", "r"], "Key", formula),
        (["e", "=A1", "d", "r"], "TokenId", formula),
        (["f", "t", "d", "=A1"], "ReferenceNo", formula),
        (["1.23457E+11", "t", "d", "r"], "Key", rounded),
        (["g", "t", "1.2E+11", "1E+15"], "ReferenceNo", rounded),
        (["", "t", "d", "#REF!"], "ReferenceNo", &error_as_key),
    ]);
}

#[test]
fn amount_that_may_mean_another_is_refused_d53() {
    let thousands =
        "must be written with at most two decimal places, because 1.000 is a thousand in many countries";
    let number = "must be a number such as 10.50";
    // Spreadsheets show 101.55 like this.
    let exponent = "must be written without an exponent: a spreadsheet that writes one leaves digits out";
    let amounts = [
        ("1.000", thousands),
        ("\"1,000\"", number),
        ("１.00", number),
        ("1 000", number),
        ("1.", number),
        ("1.02E+02", exponent),
    ];
    let row = |(number, (amount, _))| format!("k{number},t,,{amount},false,,\n");
    let rows: String = (2..).zip(amounts).map(row).collect();
    let problem = |(line, (_, rule))| format!("{line} Amount {rule}");
    refuses(format!("{HEADER}{rows}"), (2..).zip(amounts).map(problem));
}

#[test]
fn ids_like_card_numbers_need_the_option_d52() {
    let rows = "a,4539578763621486,,1,false,4539578763621486,\nb,t,,1,false,,x 4539-5787-6362-1486\n\
                4539578763621486,t,,1,false,,\n,t,,1,false,,5555555555554444\n\
                c,4111 1111 1111 1111,,1,true,,\nd,tok_4111111111111112,,1,true,,\n";
    let content = format!("{HEADER}{rows}");
    let other = "must not contain a card number; if it only looks like one, give --ids-are-not-cards";
    let token = "TokenId must be a token of the service, never a card number; if it only looks like one, give --ids-are-not-cards";
    let ended = dry_run(&content);
    assert_eq!(
        listed(&ended),
        [
            format!("2 {token}"),
            format!("3 ReferenceNo {other}"),
            format!("4 Key {other}"),
            format!("5 ReferenceNo {other}"),
            format!("6 {token}"),
        ]
    );
    ended.hides(["4539578763621486", "4539-5787-6362-1486", "5555555555554444", "4111 1111"]);
    let text = dry_run_with(content, "--ids-are-not-cards --output text").exits(0);
    let warning = "WARNING: ids that look like card numbers: 5; they are sent and stored as they are\n\
                   WARNING: rows to send without a ReferenceNo: 4; if a response is lost, no report can tell them apart\n\
                   WARNING: there is no journal at ";
    begins(&text.stderr, warning);
}

#[test]
fn ignored_columns_are_not_read() {
    let run = |content: &[u8], ignored: &str| dry_run_with(content, &format!("--ignore-columns '{ignored}'"));
    let content = [
        &b"Note,Key,TokenId,Amount,ConvenienceFeeActive,Sales Region\n"[..],
        b"\xff\0,a,t,1,false,4111111111111111\n",
    ]
    .concat();
    assert_eq!(run(&content, "Note, Sales Region").exits(0).count("total"), 1);
    assert_eq!(listed(&run(&content, "Note")), [format!("1 \"Sales Region\" {NO_COLUMN}")]);

    // With another name for `Key`, the reference would be the key, and every row would be new.
    let mistyped = b"Kye,TokenId,Amount,ConvenienceFeeActive,ReferenceNo\na,t,1,false,b\n";
    let rule = "is missing in the header, and --ignore-columns requires it: if the column of the keys were ignored because \
                its name is mistyped, every key would change, and everybody would be charged again";
    assert_eq!(listed(&run(mistyped, "Kye")), [format!("1 Key {rule}")]);
    let empty = b"Kye,Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo\na,,t,1,false,b\n";
    assert_eq!(listed(&run(empty, "Kye")), ["2 Key is required with --ignore-columns"]);

    // No column of the charge can be ignored.
    for field in HEADER.trim().split(',') {
        for name in [field, &field.to_lowercase()] {
            let error = run(b"", name).failed_as(2, "usage");
            let expected = format!(
                "--ignore-columns names {field}, which is a column of the charge and cannot be ignored; nothing was sent"
            );
            assert_eq!(error["message"], expected);
        }
    }
}

/// As `#` leaves out a line of a script.
#[test]
fn row_that_a_sign_seems_to_leave_out_is_refused() {
    let workspace = Workspace::open();
    for sign in ["#", "//", ";"] {
        workspace.rows(format!(
            "{sign}inv-7,tok_approved,1.00,false,inv-7\ninv-8,tok_approved,2.00,false,inv-8\n"
        ));
        for option in ["--dry-run", ""] {
            let error = workspace.bills(option).failed(2);
            assert_eq!((&error["violation_count"], &error["violations"][0]["line"]), (&json!(1), &json!(2)));
            has(error["violations"][0].to_string(), ["a sign does not leave a row out, so remove the row"]);
        }
    }
    assert_eq!(workspace.requests(), 0);
    // Names of orders, and a key that the journal has.
    workspace.rows("#1,tok_approved,1.00,false,\n#2,tok_approved,2.00,false,\n");
    workspace.bills("").ends(0, "processed");
    workspace.rows("#1,tok_approved,1.00,false,\nn-3,tok_approved,3.00,false,\n");
    workspace.bills("").ends(0, "processed");
    workspace.rows("#4,tok_approved,1.00,false,\nn-3,tok_approved,3.00,false,\n");
    workspace.bills("").failed(2);
}
