//! The checks of a billing file before anything is sent.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::support::{Ended, Peer, TemporaryFile, Then, has, payments_at};

const HEADER: &str = "Key,TokenId,GatewayCustomerId,Amount,ConvenienceFeeActive,Description,ReferenceNo\n";

/// The rule for an unknown heading.
const NO_COLUMN: &str = "is none of the columns Key, TokenId, GatewayCustomerId, Amount, ConvenienceFeeActive, Description, \
                         ReferenceNo: fix the name, or give --ignore-columns";

/// A dry run of a file with this name and content. Checks that it contacts nobody and creates no journal.
fn dry_run(name: &str, content: impl AsRef<[u8]>) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    dry_run_of(path.to_str().unwrap())
}

fn dry_run_of(path: &str) -> Ended {
    let peer = Peer::new(Then::Close);
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal.db");
    let arguments =
        ["batch", "run", path, "--journal", journal.to_str().unwrap(), "--dry-run", "--output", "json"];
    let ended = payments_at(&peer.base_url, arguments).end();
    assert_eq!(peer.connections(), 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a journal was created");
    ended
}

/// The problems of such a file, as `line field rule`.
#[track_caller]
fn problems(content: impl AsRef<[u8]>) -> Vec<String> {
    listed(&dry_run("rows.csv", content))
}

#[track_caller]
fn refuses(content: impl AsRef<[u8]>, expected: impl IntoIterator<Item = impl AsRef<str>>) {
    let expected: Vec<_> = expected.into_iter().map(|it| it.as_ref().to_owned()).collect();
    assert_eq!(problems(content), expected);
}

#[track_caller]
fn listed(ended: &Ended) -> Vec<String> {
    let error = ended.failed(2);
    assert_eq!(error["kind"], "batch_file");
    let violations = error["violations"].as_array().unwrap();
    assert_eq!(error["violation_count"], violations.len());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    violations
        .iter()
        .map(|it| format!("{} {} {}", it["line"], text(&it["field"]), text(&it["rule"])))
        .collect()
}

/// The number and sum of the rows to send, as JSON.
#[track_caller]
fn to_send(content: impl AsRef<[u8]>) -> String {
    let ended = dry_run("rows.csv", content).quiet(0);
    assert_eq!(ended.json()["outcome"], "dry_run");
    let rows = ended.stdout.split_once(r#""not_started":"#).unwrap().1;
    assert_eq!(ended.json()["rows"]["total"], ended.json()["rows"]["not_started"]);
    rows.split_inclusive('}').next().unwrap().to_owned()
}

#[test]
fn valid_file_is_counted_and_summed_exactly() {
    let rows = "a,tok_approved,gc_1,0.10,false,\"tea, 500 g\",\nb,tok_approved,,0.20,TRUE,,order 2\n\
                ,tok_approved,,90071992547409.93,False,,c\n";
    let expected = r#"{"count":3,"sum":90071992547410.23}"#;
    assert_eq!(to_send(format!("{HEADER}{rows}")), expected);
}

#[test]
fn common_file_variations_are_accepted() {
    let expected = r#"{"count":2,"sum":2.00}"#;
    let header = "Key,TokenId,Amount,ConvenienceFeeActive";
    for (what, content) in [
        ("a byte order mark and CRLF", format!("\u{feff}{header}\r\na,t,1,false\r\nb,t,1,false\r\n")),
        ("no final newline", format!("{header}\na,t,1,false\nb,t,1,false")),
        ("empty lines", format!("\n\n{header}\n\na,t,1,false\n\r\n\nb,t,1,false\n\n\n")),
        ("trailing commas", format!("{header},,\na,t,1,false,,\nb,t,1,false,,\n")),
        (
            "cells that a spreadsheet left out",
            format!("{header},Description,ReferenceNo\na,t,1,false\nb,t,1,false,x\n"),
        ),
        ("CR line ends", format!("{header}\ra,t,1,false\rb,t,1,false\r")),
        ("commas beyond the header", format!("{header}\na,t,1,false,,\nb,t,1,false\n")),
        ("rows with empty cells", format!("{header}\na,t,1,false\n,,,\nb,t,1,false\n,,,\n")),
        ("another order", "ConvenienceFeeActive,Amount,Key,TokenId\nfalse,1,a,t\nfalse,1,b,t\n".to_owned()),
        (
            "quotation marks",
            "\"Key\",\"TokenId\",\"Amount\",\"ConvenienceFeeActive\"\n\"a\",t,\"1\",\"false\"\nb,t,1,false"
                .to_owned(),
        ),
    ] {
        assert_eq!(to_send(&content), expected, "{what}");
    }
}

#[test]
fn file_without_rows_is_refused() {
    let header = "Key,TokenId,Amount,ConvenienceFeeActive";
    for content in [header.to_owned(), format!("{header}\n,,,\n\n")] {
        refuses(&content, ["1 file has no rows"]);
    }
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
}

#[test]
fn card_number_as_token_is_refused() {
    let rule = "must be a token of the service, never a card number; if it only looks like one, give --ids-are-not-cards";
    let rows =
        "a,4111111111111111,,1,true,,\nb,4111 1111 1111 1111,,1,true,,\nc,tok_4111111111111112,,1,true,,\n";
    refuses(format!("{HEADER}{rows}"), [format!("2 TokenId {rule}"), format!("3 TokenId {rule}")]);
}

#[test]
fn header_is_checked() {
    let body = "\na,t,1,false\n";
    refuses(
        format!("Key,TokenId,Amount,amount,TokenId{body}"),
        [
            &*format!("1 amount {NO_COLUMN}"),
            "1 TokenId is a column more than once",
            "1 ConvenienceFeeActive is missing in the header",
        ],
    );
    refuses(
        format!("TokenId,Amount,ConvenienceFeeActive,4111111111111111{body}"),
        [&*format!("1 \"****************\" {NO_COLUMN}"), "1 Key or ReferenceNo is missing in the header"],
    );
    // The rows are checked even if a column is unknown.
    refuses(
        "Key,TokenId,Amount,ConvenienceFeeActive,Note\na,t,0,false,x\n",
        [&*format!("1 Note {NO_COLUMN}"), "2 Amount must be above zero"],
    );
    refuses(
        "Key,TokenId,Amount,ConvenienceFeeActive,\na,t,1,false,x\n",
        ["2 row has a value in column 5, which has no name"],
    );
    for (separator, name) in [(";", "semicolons"), ("\t", "tabs")] {
        let content = "Key,TokenId,Amount,ConvenienceFeeActive\na,t,1,false\n".replace(',', separator);
        let rule = format!("1 header has columns separated by {name}; they must be separated by commas");
        refuses(content, [rule]);
    }
    // The cells of such a row are not checked, because their columns are unclear.
    refuses(
        "Key,TokenId,Amount,ConvenienceFeeActive\na,t,12,50,false\n",
        [
            "2 row has 5 cells, and the header has 4; a value with a comma needs quotes, and an amount needs a point \
          and not a comma",
        ],
    );
    refuses("\n\r\n", ["1 header is missing: the file is empty"]);
}

#[test]
fn invalid_text_is_reported_but_not_shown() {
    let content = [
        &b"Key,TokenId,Amount,ConvenienceFeeActive,Description\na,t,1,false,\xff\n"[..],
        b"b,t\0,1,false,\n\"c\n\",t,1,false,\n",
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
        dry_run("rows.csv", beginning).refused("UTF-16");
    }
}

#[test]
fn oversized_row_is_skipped() {
    let large = "x".repeat(10 << 20);
    let csv = format!("{HEADER}a,t,,1,false,\"{large}\n{large}\",\nb,t,,0,false,,\n");
    refuses(csv, ["2 row must be at most 128 KiB in 256 cells", "4 Amount must be above zero"]);
    let commas = ",".repeat(100_000);
    refuses(
        format!("{HEADER}{commas}\nb,t,,0,false,,\n"),
        ["2 row must be at most 128 KiB in 256 cells", "3 Amount must be above zero"],
    );
    // A row within the limit of a row, but longer than the limit of a request.
    let description = "x".repeat(70_000);
    let content = format!("{HEADER}a,t,,1,false,{description},\n");
    refuses(content, ["2 body must be at most 65536 bytes of JSON"]);
}

#[test]
fn only_a_nonempty_regular_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("empty.csv"), "").unwrap();
    assert!(Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
    for (path, expected) in [
        (path("."), "is a directory"),
        (path("none"), "cannot be read"),
        (path("empty.csv"), "is empty"),
        (path("fifo"), "must be a regular file"),
        ("/dev/null".to_owned(), "must be a regular file"),
        ("-".to_owned(), "must be a regular file"),
    ] {
        let message = dry_run_of(&path).refusal();
        has(&message, [expected, "nothing was sent"]);
    }
}

#[test]
fn text_shows_the_first_hundred_problems() {
    let rows = "a,t,,0,false,,\n".repeat(150);
    let file = TemporaryFile::new(format!("{HEADER}{rows}"));
    let peer = Peer::new(Then::Close);
    let arguments = ["batch", "run", file.path(), "--journal", "none.db", "--output", "text"];
    let ended = payments_at(&peer.base_url, arguments).end();
    assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{ended:?}");
    let lines: Vec<_> = ended.stderr.lines().collect();
    assert_eq!(lines[0], "INVALID, nothing was sent (exit code 2)");
    assert!(lines[1].contains("has 299 problems"), "{}", lines[1]);
    assert_eq!(lines[2], "  line 2: Amount must be above zero");
    assert_eq!(lines[4], "  line 3: Key is the same as in line 2");
    assert_eq!((lines.len(), lines[102]), (103, "  and 199 more; --output json has up to 10000"));
    assert_eq!(peer.connections(), 0);
}

#[test]
fn dry_run_before_the_command_sends_nothing() {
    let file = TemporaryFile::new(format!("{HEADER}a,t,,1,false,,\n"));
    let peer = Peer::new(Then::Close);
    let arguments = ["--dry-run", "batch", "run", file.path(), "--journal", "none.db"];
    let ended = payments_at(&peer.base_url, arguments).end();
    assert_eq!((ended.code, peer.connections()), (Some(0), 0), "{ended:?}");
    assert_eq!(ended.json()["outcome"], "dry_run");
}

/// The problems of these rows of texts.
#[track_caller]
fn problems_of_texts(rows: &[(&str, &str, &str, &str)]) -> Vec<String> {
    let mut csv = "Key,TokenId,Amount,ConvenienceFeeActive,Description,ReferenceNo\n".to_owned();
    for (key, token, description, reference) in rows {
        let quoted = |text: &&str| format!("\"{}\"", text.replace('"', "\"\""));
        let [key, token, description, reference] = [key, token, description, reference].map(quoted);
        writeln!(csv, "{key},{token},1.00,false,{description},{reference}").unwrap();
    }
    problems(csv)
}

#[test]
fn white_space_around_a_text_is_refused_everywhere_d53() {
    let rule = "must not begin or end with white space";
    let expected =
        ["2 TokenId", "3 Description", "4 ReferenceNo", "5 TokenId", "6 Description", "7 ReferenceNo"]
            .map(|field| format!("{field} {rule}"));
    let key_rule = "Key must consist of visible ASCII characters, without spaces";
    let expected = [&expected[..], &[format!("8 {key_rule}"), format!("9 {key_rule}")]].concat();
    let rows = [
        ("b", "tok_approved ", "d", "r"),
        ("c", "t", "\td", "r"),
        ("d", "t", "d", "r\u{a0}"),
        ("e", "\u{feff}t", "d", "r"),
        ("f", "t", "d\u{200b}", "r"),
        ("g", "t", "d", "\u{3000}r"),
        (" h", "t", "d", "r"),
        ("i\u{a0}", "t", "d", "r"),
        // An emoji ends with a character that is not shown.
        ("j", "t", "thanks \u{2764}\u{fe0f}", "r"),
    ];
    assert_eq!(problems_of_texts(&rows), expected);
    let rows =
        "a,t,gc_1 ,1,false,,\nb,t,, 1.00,false,,\nc,t,,1.00 ,false,,\nd,t,,1, false,,\ne,t,,1,TRUE\u{a0},,\n";
    refuses(
        format!("{HEADER}{rows}"),
        ["2 GatewayCustomerId", "3 Amount", "4 Amount", "5 ConvenienceFeeActive", "6 ConvenienceFeeActive"]
            .map(|field| format!("{field} {rule}")),
    );
    // A reference that is the key is reported once.
    refuses(format!("{HEADER},t,,1,false,, r\n"), [format!("2 ReferenceNo {rule}")]);
}

#[test]
fn spreadsheet_errors_and_formulas_are_no_key_id_or_reference_d53() {
    let error = "must not be an error value of a spreadsheet";
    let formula = "must not be a formula of a spreadsheet";
    let rounded = "must not be a number that a spreadsheet has shortened: format the column as text";
    let expected = [
        format!("2 Key {error}"),
        format!("3 TokenId {error}"),
        format!("4 ReferenceNo {error}"),
        format!("5 Key {formula}"),
        format!("6 TokenId {formula}"),
        format!("7 ReferenceNo {formula}"),
        format!("8 Key {rounded}"),
        format!("9 TokenId {rounded}"),
        format!("10 ReferenceNo {rounded}"),
        format!("11 Key {error}"),
        format!("12 TokenId {formula}"),
        format!("13 ReferenceNo {error}"),
    ];
    let rows = [
        ("#REF!", "t", "#N/A", "r"),
        ("b", "#N/A", "=1", "r"),
        ("c", "t", "d", "#BEZUG!"),
        ("=\"00123\"", "t", "d", "r"),
        ("e", "=A1", "d", "r"),
        ("f", "t", "d", "=A1"),
        ("1.23457E+11", "t", "d", "r"),
        ("g", "1,23457E+11", "d", "r"),
        ("h", "t", "1.2E+11", "1E+15"),
        ("#n/a", "t", "d", "r"),
        ("i", "{=A1}", "#n/a", "r"),
        ("j", "t", "d", "#Loading..."),
    ];
    assert_eq!(problems_of_texts(&rows), expected);
    refuses(
        format!("{HEADER},t,,1,false,,#REF!\n"),
        [format!("2 ReferenceNo {error}, because it is the key of a row without Key")],
    );
}

#[test]
fn amount_with_more_than_two_written_decimals_is_refused_d53() {
    let amounts = ["1.000", "12.500", "1.230", "1.000e2"];
    let expected: Vec<_> = (2..6)
        .map(|line| {
            format!(
                "{line} Amount must be written with at most two decimal places, because 1.000 is a thousand in many countries"
            )
        })
        .collect();
    let rows = amounts.map(|amount| format!("k{amount},t,,{amount},false,,\n")).concat();
    refuses(format!("{HEADER}{rows}"), expected);
    let rows = "a,t,,\"1,000\",false,,\nb,t,,１.00,false,,\nc,t,,1 000,false,,\nd,t,,1.,false,,\n";
    let seen = problems(format!("{HEADER}{rows}"));
    assert_eq!(seen, [2, 3, 4, 5].map(|line| format!("{line} Amount must be a number such as 10.50")));
    // Spreadsheets show 101.55 like this.
    let rows =
        ["1.02E+02", "1e2", "1.23E+05"].map(|amount| format!("k{amount},t,,{amount},false,,\n")).concat();
    let seen = problems(format!("{HEADER}{rows}").replace("k1.02E+02", "a").replace("k1.23E+05", "b"));
    let rule = "Amount must be written without an exponent: a spreadsheet that writes one leaves digits out";
    assert_eq!(seen, [2, 3, 4].map(|line| format!("{line} {rule}")));
}

#[test]
fn numeric_ids_that_are_no_card_numbers_are_accepted_d52() {
    let rows = "9405701444882224,9477709629051443,,1,false,,9405701444882224\n\
                1793000000000,7000000000000005,,1,false,,2026112100000017\n";
    assert_eq!(to_send(format!("{HEADER}{rows}")), r#"{"count":2,"sum":2.00}"#);
}

#[test]
fn ids_like_card_numbers_need_the_option_d52() {
    let rows = "a,4539578763621486,,1,false,4539578763621486,\nb,t,,1,false,,x 4539-5787-6362-1486\n\
                4539578763621486,t,,1,false,,\n,t,,1,false,,5555555555554444\n";
    let other = "must not contain a card number; if it only looks like one, give --ids-are-not-cards";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    std::fs::write(&path, format!("{HEADER}{rows}")).unwrap();
    let ended = dry_run_of(path.to_str().unwrap());
    assert_eq!(
        listed(&ended),
        [
            "2 TokenId must be a token of the service, never a card number; if it only looks like one, give \
             --ids-are-not-cards"
                .to_owned(),
            format!("3 ReferenceNo {other}"),
            format!("4 Key {other}"),
            format!("5 ReferenceNo {other}"),
        ]
    );
    for digits in ["4539578763621486", "4539-5787-6362-1486", "5555555555554444"] {
        assert!(!format!("{ended:?}").contains(digits), "{ended:?}");
    }
    let peer = Peer::new(Then::Close);
    let arguments =
        ["batch", "run", path.to_str().unwrap(), "--journal", "none.db", "--dry-run", "--output", "text"];
    let ended = payments_at(&peer.base_url, arguments).arguments(["--ids-are-not-cards"]).end();
    assert_eq!((ended.code, peer.connections()), (Some(0), 0), "{ended:?}");
    assert_eq!(
        ended.stderr.trim_end(),
        "WARNING: ids that look like card numbers: 4; they are sent and stored as they are"
    );
}

#[test]
fn unknown_heading_is_named_as_it_is_written() {
    let body = "\na,t,1,false,x\n";
    let header = "Key,TokenId,Amount,ConvenienceFeeActive";
    let long = "x".repeat(41);
    for (heading, problem) in [
        ("Größe", format!("\"Größe\" {NO_COLUMN}")),
        ("Token Id", format!("\"Token Id\" {NO_COLUMN}")),
        ("4111 1111 1111 1111", format!("\"**** **** **** ****\" {NO_COLUMN}")),
        (&long, format!("\"{}…\" {NO_COLUMN}", "x".repeat(40))),
        (
            " Description",
            "\" Description\" has white space around the name Description: remove it".to_owned(),
        ),
        (
            "ReferenceNo\u{a0}",
            "\"ReferenceNo\\u{a0}\" has white space around the name ReferenceNo: remove it".to_owned(),
        ),
    ] {
        refuses(format!("{header},{heading}{body}"), [format!("1 {problem}")]);
    }
    // It is not reported as missing as well.
    refuses(
        "Key, TokenId,Amount,ConvenienceFeeActive\na,t,1,false\n",
        ["1 \" TokenId\" has white space around the name TokenId: remove it"],
    );
}

#[test]
fn line_that_tells_a_spreadsheet_the_separator_is_explained() {
    let rows = "Key,TokenId,Amount,ConvenienceFeeActive\na,t,1,false\n";
    for line in ["sep=,", "SEP=,", "sep=|", "sep="] {
        refuses(
            format!("{line}\n{rows}"),
            ["1 header is preceded by a line sep=…, which is a note for a spreadsheet: remove that line"],
        );
    }
    refuses(
        format!("sep=;\n{}", rows.replace(',', ";")),
        ["1 header has columns separated by semicolons; they must be separated by commas"],
    );
}

#[test]
fn lines_are_counted_with_any_line_ends() {
    for end in ["\n", "\r", "\r\n"] {
        let rows =
            ["a,t,,0,false,,", "b,t,,0,false,\"x{end}y\",", "", "c,t,,0,false,,", "a,t,,1,false,,"].join(end);
        let content = format!("{}{end}{rows}{end}", HEADER.trim_end()).replace("{end}", end);
        let rule = "Amount must be above zero";
        refuses(
            content,
            [
                format!("2 {rule}"),
                format!("3 {rule}"),
                format!("6 {rule}"),
                "7 Key is the same as in line 2".to_owned(),
            ],
        );
    }
}

#[test]
fn ignored_columns_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let run = |content: &[u8], ignored: &str| {
        std::fs::write(&path, content).unwrap();
        let peer = Peer::new(Then::Close);
        let arguments = ["batch", "run", path.to_str().unwrap(), "--journal", "none.db", "--dry-run"];
        let options = ["--output", "json", "--ignore-columns", ignored];
        let ended = payments_at(&peer.base_url, arguments).arguments(options).end();
        assert_eq!(peer.connections(), 0);
        ended
    };
    let content = [
        &b"Note,Key,TokenId,Amount,ConvenienceFeeActive,Sales Region\n"[..],
        b"\xff\0,a,t,1,false,4111111111111111\n",
    ];
    let ended = run(&content.concat(), "Note, Sales Region");
    assert_eq!((ended.code, &ended.json()["rows"]["total"]["count"]), (Some(0), &1.into()), "{ended:?}");
    assert_eq!(listed(&run(&content.concat(), "Note")), [format!("1 \"Sales Region\" {NO_COLUMN}")]);

    // With another name for `Key`, the reference would be the key, and every row would be new.
    let mistyped = b"Kye,TokenId,Amount,ConvenienceFeeActive,ReferenceNo\na,t,1,false,b\n";
    let rule = "is missing in the header, and --ignore-columns requires it: if the column of the keys were ignored because \
                its name is mistyped, every key would change, and everybody would be charged again";
    assert_eq!(listed(&run(mistyped, "Kye")), [format!("1 Key {rule}")]);
    let empty = b"Kye,Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo\na,,t,1,false,b\n";
    assert_eq!(listed(&run(empty, "Kye")), ["2 Key is required with --ignore-columns"]);
}

#[test]
fn column_of_the_charge_cannot_be_ignored() {
    let fields = HEADER.trim().split(',');
    for (field, name) in
        fields.clone().chain(fields.clone()).zip(HEADER.to_lowercase().trim().split(',').chain(fields))
    {
        let arguments = ["batch", "run", "none.csv", "--journal", "none.db", "--ignore-columns", name];
        let error = payments_at("http://127.0.0.1:9", arguments).end().failed(2);
        let expected = format!(
            "--ignore-columns names {field}, which is a column of the charge and cannot be ignored; nothing was sent"
        );
        assert_eq!((&error["kind"], &error["message"]), (&"usage".into(), &expected.into()));
    }
}

#[test]
fn json_lines_are_refused() {
    let row = r#"{"Key":"a","TokenId":"t","Amount":1,"ConvenienceFeeActive":false}"#;
    for name in ["rows", "rows.jsonl"] {
        let error = dry_run(name, row).failed(2);
        let expected = "the file of the billing run is JSON Lines by its name or its first letter, and must be CSV; nothing was sent: fix the file or name another one";
        assert_eq!(error["message"], expected);
    }
}

#[test]
fn file_that_does_not_fit_into_memory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    std::fs::write(&path, HEADER).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len((256 << 20) + 1).unwrap();
    let error = dry_run_of(path.to_str().unwrap()).failed(2);
    let expected = "the file of the billing run is larger than 256 MiB and would not fit into memory: split it; nothing was sent: \
                    fix the file or name another one";
    assert_eq!(error["message"], expected);
}
