//! Long texts of `--help`.

/// What stands under the help of every command that talks to a service.
pub(crate) const CLIENT: &str = "\
Settings:
  base address   --base-url, else PAYMENTS_BASE_URL
  API key        --api-key-file, else PAYMENTS_API_KEY, else PAYMENTS_API_KEY_FILE
  An empty variable counts as unset. The key and card data are never arguments,
  because every user of a machine can read the arguments of its processes.

Exit codes:
  0  processed, or found
  1  anything else, such as a result that could not be written: see stderr
  2  invalid use or input; nothing was sent
  3  not processed; it is safe to run the same command again
  4  rejected; correct the request, then run it again
  5  OUTCOME UNKNOWN: it may have been processed; do not run it again, look it up
  6  rejected with HTTP 401: the API key was refused
  7  rejected with HTTP 404: not found

With --output json, stdout is exactly one JSON document in every case:
  {\"outcome\":\"processed\",\"http_status\":200,\"data\":{…}}
  {\"outcome\":\"invalid|not_processed|rejected|unknown\",\"error\":{\"kind\":…,\"message\":…,…}}";

/// What stands under the help of `payments sandbox`.
pub(crate) const SANDBOX: &str = "\
The first line of stdout is one JSON object with base_url and api_key, written
when the sandbox is ready; everything else goes to stderr. SIGINT and SIGTERM
finish what is in flight.

Exit codes:
  0  stopped by a signal
  1  it could not listen, or the first line could not be written: see stderr
  2  invalid use";

/// What stands under the help of `payments demo`.
pub(crate) const DEMO: &str = "\
Exit codes:
  0  what the client believed and what the sandbox did agree everywhere
  1  they do not, or the demonstration could not run
  2  invalid use";
