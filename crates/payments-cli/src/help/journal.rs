//! Long texts of `payments journal … --help`.

pub(crate) const JOURNAL: &str = "\
Look into the journal of what was sent with --key, and resolve what is unknown

The journal is what `--journal PLACE --key KEY` of a charge and `payments batch`
write to: a file, or the address of a PostgreSQL database, which may stand in
PAYMENTS_JOURNAL. An address with a password belongs into the variable, because
every user of a machine can read the arguments of its processes.

States:
  sending        handed to the network; its end is not known yet
  processed      the service says so; never sent again
  rejected       the answer was no; sent again only with --after-rejection, or
                 after `journal retry`
  not_processed  provably never acted upon; the same key may be sent again
  unknown        it may have been processed; never sent again before a person
                 resolves it
  resolved       it was unknown, and a person has said what happened

docs/reconciling.md tells how to find out about the unknown ones.";

pub(crate) const LIST: &str = "\
List the intents, in the order in which they were first written down

  payments journal list --journal billing.db --unresolved

With --output json it is one array of objects with key, state, operation,
amount, transaction_id, reference, created_at, begun_at and changed_at, and
what else is known. It is [] if there are none, and the exit code is 0 either
way: [ \"$(payments journal list --unresolved --output json)\" = \"[]\" ]

A sender that died is noticed when a journal is opened, so what it left behind
as sending is listed as unknown.";

pub(crate) const EXPORT: &str = "\
Print every intent, or some, for a spreadsheet or a program

  payments journal export --journal billing.db --format csv > billing.csv
  payments journal export --run november.csv --state unknown --format csv

jsonl has one line for each intent and no other, with the members of
`journal list`; csv has a column for each of them. An intent is printed if it
meets every option that is given:

  --state  by what became of it
  --since  by begun_at, the moment just before it was last sent: the time to
           look for in the service's books. A date begins at midnight UTC. An
           intent that was resolved later keeps this time
  --run    by key: those of a billing run's file, CSV or JSON Lines, or of a
           file of its --results. A key that this journal does not have is left
           out: it was not sent through it, or it was purged

csv is safe to open in a spreadsheet: what could be taken for a formula begins
with an apostrophe, and control characters are written out, as \\n. Import it as
text all the same: a spreadsheet turns a long number into another one.

`journal resolve --from` takes the file back once it is filled in.";

pub(crate) const RESOLVE: &str = "\
Say what became of an intent whose outcome is unknown, or of many

  payments journal resolve invoice-17 --processed txn_1
  payments journal resolve invoice-17 --not-processed \\
      --note \"not in the settlement report of 21 November\"
  payments journal resolve --from found.csv --by ada

With --processed the transaction is looked up, and its amount and the last four
digits of its card must not contradict the intent. That there is such a
transaction does not prove that it is this intent's, nor that it was charged:
only you can know that. So its record is shown beside the intent, with --output
json as its member record: read its Status, and resolve the key anew if it is
another's.

AFTER --not-processed THE KEY MAY BE SENT AGAIN. If it was processed after all,
somebody pays twice. That a look-up finds nothing proves nothing: a request
that was stuck on its way may still be processed.

With --from each row of a CSV file says it of one key. The columns are Key,
TransactionId and Note, in any case and with or without underscores, so that a
file of `journal export --state unknown --format csv` can be filled in; other
columns are ignored. With a TransactionId the key was processed as that
transaction. Without one it was not processed, and the note is required, as it
is for every void: DELETE THE ROWS OF WHICH YOU KNOW NOTHING. Every row is checked and every transaction
looked up before one row is written. A file with a wrong row changes nothing,
and each wrong row is named. Only keys that are unknown now are taken: correct
one that was resolved before alone.
  {\"resolved\":{\"not_processed\":{\"count\":1,\"sum\":9.50},\"processed\":…},\"intents\":[…]}

What was said can be corrected by saying it anew, until the key is sent again.

Where no login name is known (USER, LOGNAME, USERNAME), as in many containers,
all need --by NAME.";

pub(crate) const RETRY: &str = "\
Let rejected intents be sent again

  payments journal retry --journal billing.db --status 401,403,429

A rejected key is never sent again by itself. The statuses 401, 403 and 429
speak of the caller and not of the payment, so once their cause is mended the
same keys may be sent again: this makes them not_processed, and the next run
sends them. It sends nothing itself, and leaves every other state as it is.
With --output json: {\"reopened\":{\"count\":3,\"sum\":31.50}}";

pub(crate) const PURGE: &str = "\
Remove what ended long ago

  payments journal purge --journal billing.db --older-than 90d

Removes processed, rejected, not_processed and resolved intents that last
changed longer ago. What is sending or unknown stays, whatever its age.

Age is counted by the journal's own time, because a machine whose clock is wrong
must not free a key. In PostgreSQL that is the server's time. A SQLite file notes
the time of every change: a row is removed if it is old by this machine's clock
and also by the newest time in the file. So a file in which nothing was written
since keeps its last rows, and nothing is removed while the clock is behind. A
clock that ran ahead while an earlier process wrote is not noticed: compare
newest_purged_at, the newest time that was removed, with what you expect.

A KEY THAT WAS REMOVED IS NEW AGAIN: a file that still holds it charges it once
more. Remove only what no run can bring back.
With --output json: {\"purged\":3,\"newest_purged_at\":\"2026-…Z\",\"warning\":…}";

/// The exit codes of what reads.
pub(crate) const READ_CODES: &str = "\
Exit codes:
  0  shown; a list may be empty
  1  it could not be written to stdout
  2  invalid use, no journal at that place, one that is unsafe to open, or no
     such key
  3  the journal cannot be read now; it is safe to run it again";

/// The exit codes of what changes the journal and sends nothing.
pub(crate) const WRITE_CODES: &str = "\
Exit codes:
  0  done
  1  done, but that could not be written to stdout
  2  invalid use, or no journal at that place, or one that is unsafe to open
  3  the journal cannot be read or written now; it is safe to run it again";

/// The exit codes of resolving.
pub(crate) const RESOLVE_CODES: &str = "\
Exit codes (settings and JSON: payments --help):
  0  resolved
  1  resolved, but that could not be written to stdout
  2  invalid use, no such key, one that is not unknown, or a transaction that
     contradicts it; with --from, a wrong row; nothing was changed
  3  not looked up, or the journal cannot be written; it is safe to run it again.
     With --from also after a rejected look-up, and if somebody else changed one
     of the keys meanwhile: the message says how many rows were resolved
  4  the look-up was rejected; 6 with HTTP 401, 7 with HTTP 404: not found;
     none of them with --from";
